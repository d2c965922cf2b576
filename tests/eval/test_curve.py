"""A model beside its base's curve: worlds of lists, the rows of runs on disk, and where they are shown."""

import shutil

import numpy as np
import pytest

from fakes import list_text
from finished_runs import lists_run
from run_files import change_config
from sozo.data.nouns import tiny_nouns
from sozo.eval.curve import CURVE, lines
from sozo.eval.evaluated import find_evaluated
from sozo.eval.findings import HIGHER, NOT_APART, NOT_COMPARED, findings
from sozo.eval.report.answer import first_screen
from sozo.eval.report.labels import english
from sozo.scoring.statistics.curve import above_line, joined
from sozo.scoring.statistics.hill import different_words
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat

# Worlds of lists: words drawn by frequency, Zipf's, with a temperature; rare ones lie farther apart.

WORDS, DIMENSIONS = 20_000, 24
LEVEL = 1 - 0.025 / 3  # as on the first screen, beside usable and different words
TEMPERATURES = (0.3, 0.5, 0.7, 1.0, 1.3, 1.6, 2.0)


class World:
    """A vocabulary, and lists of ten of its words."""

    def __init__(self, seed=0):
        self.random = np.random.default_rng(seed)
        self.logits = -1.2 * np.log(np.arange(WORDS) + 21)
        common = 1.5 * (1 - np.linspace(0, 1, WORDS) ** 0.3)
        vectors = self.random.normal(size=(WORDS, DIMENSIONS))
        vectors += common[:, None] * self.random.normal(size=DIMENSIONS)
        self.unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def lists(self, temperature, n):
        chances = np.cumsum(np.exp((self.logits - self.logits[0]) / temperature))
        lists = np.empty((n, 10), np.int64)
        for k in range(10):
            rows = np.arange(n)
            while len(rows):
                drawn = self.random.random(len(rows)) * chances[-1]
                lists[rows, k] = np.searchsorted(chances, drawn)
                twice = (lists[rows, :k] == lists[rows, k : k + 1]).any(axis=1)
                rows = rows[twice]
        return lists

    def paired(self, temperature, n):
        """Of two lists the farther one: words are chosen by each other."""
        one, other = self.lists(temperature, n), self.lists(temperature, n)
        farther = self.scores(one) > self.scores(other)
        return np.where(farther[:, None], one, other)

    def scores(self, lists):
        return 1 - ((self.unit[lists].sum(axis=1) ** 2).sum(axis=1) - 10) / 90

    def places(self, lists):
        return np.column_stack([different_words(lists), self.scores(lists)])

    def told(self, lists):
        line = [self.places(self.lists(t, len(lists))) for t in TEMPERATURES]
        return above_line(self.places(lists), line).estimate(LEVEL).sign


def test_hotter_lies_on_the_curve_and_pairing_above():
    world = World()
    hotter = world.random.uniform(0.35, 1.9, 12)
    hotter = [world.told(world.lists(temperature, 1000)) for temperature in hotter]
    assert hotter.count(0) >= 11
    paired = [world.told(world.paired(1.0, 1000)) for _ in range(12)]
    assert paired.count(1) >= 11


# The statistics.


def test_a_straight_line_needs_no_allowance_and_a_bent_one_does():
    random = np.random.default_rng(0)
    noise = random.normal(size=(400, 2)) * (1, 0.1)
    noise -= noise.mean(axis=0)

    def place(x, y):
        return noise + np.array([x, y])

    straight, bent = (
        [place(x, rise(x)) for x in (0.0, 2.0, 4.0)]
        for rise in (lambda x: 3 * x, lambda x: x * x)
    )
    even = above_line(place(1.0, 3.5), straight)
    assert even.up - even.line == pytest.approx(0.5)
    assert even.bend == pytest.approx(0, abs=1e-9)
    on_it = above_line(place(1.0, 1.0), bent)  # where the line says 2
    assert on_it.bend == pytest.approx(1.0)
    known = on_it.estimate()
    assert known.low < 0 < known.high
    assert known.p > 0.9
    above = above_line(place(1.0, 3.9), bent).estimate()
    assert above.sign == 1
    assert above.p < 0.05


@pytest.mark.parametrize(("spread", "paired"), [(0.0, False), (1.0, True)])
def test_points_that_are_not_apart_are_one_and_their_heights_allowed_for(
    spread, paired
):
    random = np.random.default_rng(0)
    noise = random.normal(size=(200, 2)) * (spread, 0.1)
    noise -= noise.mean(axis=0)

    def place(x, y):
        own = random.permutation(noise)  # so that pairs differ
        return own + np.array([x, y])

    line = [place(x, y) for x, y in ((10, 0.5), (10, 0.56), (100, 0.6), (200, 0.8))]
    assert [len(group) for group in joined(line, paired=paired)] == [2, 1, 1]
    at_twice = above_line(place(10, 0.54), line, paired=paired)  # as one of them, or so
    assert at_twice.line == pytest.approx(0.53)
    assert at_twice.bend == pytest.approx(0.03)
    assert at_twice.estimate().sign == 0
    higher = above_line(place(10, 0.7), line, paired=paired).estimate()
    assert higher.sign == 1
    elsewhere = above_line(place(150, 0.8), line, paired=paired)
    assert elsewhere.estimate().sign == 1
    assert elsewhere.bend < 0.03  # the two are not beside it


def test_items_that_all_were_asked_are_resampled_together():
    random = np.random.default_rng(0)
    items = random.normal(size=(200, 2))  # how easy each item is, for all alike
    rows = [items + x + random.normal(size=(200, 2)) / 10 for x in (1.0, 0.0, 2.0, 4.0)]
    together, apart = (
        above_line(rows[0], rows[1:], paired=paired) for paired in (True, False)
    )
    assert together.error < apart.error / 3
    assert together.line_n is None


# Rows: a temperature draws from so many nouns.

DRAWN = {"temperature=0.5": 60, "temperature=0.7": 120, "": 240, "temperature=1.5": 500}
LISTS = 200


def dat_rows(folder, name, lists, model, sampling="", temperature=1.0):
    sampled = {"sampling": sampling} if sampling else {}
    lists_run(folder, name, lists, model=model, **sampled)
    change_config(folder, "loaded", decoder={"temperature": temperature})


@pytest.fixture(scope="module")
def drawn():
    """(nouns, number, seed) -> lists of so many nouns, all usable, and of several the farthest apart."""
    scorer = Dat(DatSettings(noun_checker="jumandic")).scorer
    every_noun = tiny_nouns()[:900]
    known = scorer.words.look_up(every_noun) >= 0
    known &= np.array(scorer.vectors.rows(every_noun)) >= 0
    nouns = [noun for noun, usable in zip(every_noun, known, strict=True) if usable]

    def lists(words, n, seed, best_of=1):
        random = np.random.default_rng(seed)
        every = [
            [nouns[i] for i in random.choice(words, 10, replace=False)]
            for _ in range(n * best_of)
        ]
        scores = scorer.score([list_text(ten) for ten in every]).scores.reshape(
            n, best_of
        )
        chosen = np.nan_to_num(scores, nan=-1).argmax(axis=1)
        return [every[k * best_of + place] for k, place in enumerate(chosen)]

    return lists


@pytest.fixture(scope="module")
def report(drawn, tmp_path_factory):
    """A base at four temperatures; models that are only hotter, that pair words, and that have few words."""
    folder = tmp_path_factory.mktemp("curve")
    for k, (sampling, words) in enumerate(DRAWN.items()):
        name = f"base {sampling}".strip()
        at = float(sampling.partition("=")[2] or 1)
        place = folder / f"base{k}"
        dat_rows(place, name, drawn(words, LISTS, k), "org/base", sampling, at)
    dat_rows(folder / "hot", "hot", drawn(340, LISTS, 10), "runs/hot")
    dat_rows(folder / "pairs", "pairs", drawn(240, LISTS, 11, 8), "runs/pairs")
    dat_rows(folder / "few", "few", drawn(20, LISTS, 12), "runs/few")
    return folder


def found_of(folder, base="base"):
    return findings(find_evaluated([str(folder)]), base)


def curves(found):
    return {row.model: row for row in found.rows if row.kind == CURVE}


def test_rows_of_kind_curve(report):
    found = found_of(report)
    rows = curves(found)
    assert set(rows) == {"hot", "pairs", "few"}  # no point of the line itself
    assert {name: row.state for name, row in rows.items()} == {
        "hot": NOT_APART,
        "pairs": HIGHER,
        "few": NOT_COMPARED,
    }
    pairs = rows["pairs"]
    assert (pairs.measure.name, pairs.base, pairs.first) == ("dat/curve", "base", True)
    assert pairs.value - pairs.base_value == pytest.approx(pairs.estimate.value)
    assert (pairs.estimate.n, pairs.estimate.base_n) == (LISTS, 4 * LISTS)
    assert "different words, where the curve has" in rows["few"].estimate.reason


def test_it_shares_the_others_half_and_without_a_curve_nothing_moves(report, tmp_path):
    for name in ("base2", "hot", "pairs", "few"):
        shutil.copytree(report / name, tmp_path / name)
    alone, found = found_of(tmp_path), found_of(report)
    assert not curves(alone)
    for model, curve in (("hot", 1), ("few", 0)):  # "few" is not compared
        for measure, others in (("dat", 0), ("dat/different_words", 1)):
            levels = [
                next(
                    row.estimate.level
                    for row in each.rows
                    if (row.model, row.measure.name) == (model, measure) and row.base
                )
                for each in (alone, found)
            ]
            parts = [0.025 / (1 - level) for level in levels]
            assert parts[1] - parts[0] == pytest.approx(curve * others)


def test_the_first_screen_says_where_a_model_lies(report):
    said = {}
    for model, told in first_screen(found_of(report)).facts:
        for state, texts in told:
            if "curve" in english(state):
                said[model] = english(state), english(texts[0])
    assert {name: state.partition(" base")[0] for name, (state, _) in said.items()} == {
        "hot": "on",
        "pairs": "above",
        "few": "not comparable with",
    }
    _, pairs = said["pairs"]
    assert " 0.89" in pairs
    assert "(+0.0235 [" in pairs


def test_other_weights_of_one_name_are_no_point_of_the_line(report, tmp_path):
    shutil.copytree(report, tmp_path / "all")
    for k in range(len(DRAWN)):
        weights = {"model_sha256": "old" if k == 1 else "new"}
        weights["model_revision"] = "old" if k == 3 else "new"
        change_config(tmp_path / "all" / f"base{k}", "loaded", **weights)
    (line,) = lines(found_of(tmp_path).compared.methods, "dat")
    assert [one.name for one in line] == ["base temperature=0.5", "base"]


def test_lines_are_of_what_differs_in_temperature_alone(report, drawn, tmp_path):
    shutil.copytree(report, tmp_path / "all")
    for text, at in (("min_p=0.1", 1.0), ("temperature=1.5,min_p=0.1", 1.5)):
        place = tmp_path / "all" / text
        dat_rows(place, f"base {text}", drawn(100, 20, 5), "org/base", text, at)
    methods = found_of(tmp_path).compared.methods
    names = [[one.name for one in line] for line in lines(methods, "dat")]
    truncated = [f"base {t}" for t in ("min_p=0.1", "temperature=1.5,min_p=0.1")]
    assert names == [[f"base {t}".strip() for t in DRAWN], truncated]


def test_temperatures_with_equal_different_words_are_one_point(report, drawn, tmp_path):
    cold = drawn(10, 1, 0) * LISTS  # as a model writes that is sure of its list
    for at in (0.1, 0.2):
        name = f"temperature={at}"
        dat_rows(tmp_path / name, f"base {name}", cold, "org/base", name, at)
    dat_rows(tmp_path / "low", "low", drawn(40, LISTS, 13), "runs/low")
    shutil.copytree(report / "base2", tmp_path / "base2")
    two = curves(found_of(tmp_path))["low"]
    told = "2 of the curve's 3 temperatures differ in different words, and it needs 3"
    assert (two.state, two.estimate.reason) == (NOT_COMPARED, told)
    assert two.estimate.low is None
    shutil.copytree(report / "base1", tmp_path / "base1")
    three = curves(found_of(tmp_path))["low"]
    assert np.isfinite([three.estimate.low, three.estimate.high]).all()


def test_over_seeds_it_is_about_the_method(report, drawn, tmp_path):
    shutil.copytree(report, tmp_path / "all")
    for seed in range(4):
        lists = drawn(240, LISTS, 20 + seed, 8)
        dat_rows(tmp_path / f"own{seed}", f"own@{seed}", lists, f"runs/own{seed}")
    row = curves(found_of(tmp_path))["own"]
    assert (row.state, row.seeds, row.counted) == (HIGHER, 4, "seeds")
    assert row.estimate.p < 1 - row.estimate.level


def test_a_base_of_several_seeds_has_a_line_at_each(report, drawn, tmp_path):
    for seed in range(1, 4):
        for k, (text, words) in enumerate(DRAWN.items()):
            name, at = f"base {text}".strip(), float(text.partition("=")[2] or 1)
            lists, place = drawn(words, LISTS, 10 * seed + k), f"base{k}@{seed}"
            model = f"runs/base@{seed}"
            dat_rows(tmp_path / place, f"{name}@{seed}", lists, model, text, at)
        for name, best in (("own", 8), ("same", 1)):
            lists, model = drawn(240, LISTS, 60 + seed, best), f"runs/{name}@{seed}"
            dat_rows(tmp_path / f"{name}{seed}", f"{name}@{seed}", lists, model)
    rows = curves(found_of(tmp_path))
    assert {name: row.state for name, row in rows.items()} == {
        "own": HIGHER,
        "same": NOT_APART,
    }
    assert (rows["own"].seeds, rows["own"].counted) == (3, "seeds")
    for k in range(len(DRAWN)):
        if k != 2:  # of those with a base of one seed less there is none
            shutil.rmtree(tmp_path / f"base{k}@3")
    assert not curves(found_of(tmp_path))
