"""Did training help? Worlds in which one number alone would crown the wrong model."""

import json
import re
import shutil
from datetime import UTC, datetime
from hashlib import sha256

import numpy as np
import pytest

from sozo.data.jumandic import load_nouns
from sozo.eval.compare import Change, compare_models
from sozo.eval.evaluated import find_evaluated
from sozo.eval.outcome import (
    AHEAD,
    BEHIND,
    FELL,
    HELD,
    MIXED,
    NOT_SHOWN,
    NOT_TO_HOLD,
    SAME,
    WORDS,
    BoundState,
    MethodOutcome,
    judged,
    outcomes,
    verdict,
)
from sozo.eval.report.evaluation_page import write_evaluation
from sozo.eval.run import score_answers
from sozo.eval.second_encoder import second_gains
from sozo.scoring.measure import Measure
from sozo.scoring.second_encoder import Gain, GainParts
from sozo.scoring.statistics.comparison import Comparison
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat
from sozo.tasks.jcq.questions import trial_questions
from sozo.tasks.sat.stories import load_stories
from sozo.tasks.task import Bound
from test_evaluation_page import english_text
from test_sipen import run_of, truthful
from whole_runs import jcq_run, sat_run, write

NOUNS = load_nouns()[:600]
LISTS = 120


class SecondEncoder:
    """It sees what it is told to see: so much more pairing. Its total is a choice of words' and high."""

    class encoder:  # noqa: N801
        name, revision = "second", "1"

    def __init__(self, gain=0.0):
        self.gain = gain

    def of(self, language):
        return self

    def over(self, base):
        self.gain += 0.001  # no two seeds are equal
        total, pairing = (Gain(value, value - 0.05, value + 0.05, 400, 400) for value in (9.0, self.gain))
        return GainParts(1.0, total, total, total, total, None, pairing)


@pytest.fixture(autouse=True)
def told(monkeypatch):
    monkeypatch.setattr("sozo.tasks.dat.summary.DatRunResult.seen_by", lambda run, second_encoder: second_encoder)


@pytest.fixture(scope="module")
def scored():
    """Lists of the same nouns, the nearest first: a model's gain is to draw from the far end."""
    random = np.random.default_rng(0)
    lists = [[NOUNS[i] for i in random.choice(len(NOUNS), 10, replace=False)] for _ in range(8 * LISTS)]
    rows = Dat(DatSettings(noun_checker="jumandic")).scorer.score([text_of(words) for words in lists])
    valid = [k for k in np.argsort(rows.scores) if rows.codes[k] == 0]
    return [lists[k] for k in valid]


def text_of(words):
    return "\n".join(f"{i}. {word}" for i, word in enumerate(words, 1))


def lists_run(folder, source, lists, model=None):
    file = write(folder.with_suffix(".texts"), [{"text": text_of(words)} for words in lists])
    score_answers(Dat(DatSettings(noun_checker="jumandic")), file, folder, source=source)
    if model:
        config = json.loads((folder / "config.json").read_bytes())
        config["settings"]["model"] = model
        (folder / "config.json").write_text(json.dumps(config), "utf-8")


def base_and(folder, scored, lists, n=LISTS):
    lists_run(folder / "base", "base", np.random.default_rng(1).permutation(scored)[:n].tolist())
    lists_run(folder / "model", "model", lists)
    return folder


def outcome(folder, second_encoder=None, task="dat", model="model", base="base"):
    compared = compare_models(find_evaluated([str(folder)]), base)
    found = outcomes(compared, second_gains(compared, second_encoder) if second_encoder else ())
    return next(one for one in found if (one.task, one.model) == (task, model))


def word(folder, second_encoder=None, model="model", base="base"):
    compared = compare_models(find_evaluated([str(folder)]), base)
    found = outcomes(compared, second_gains(compared, second_encoder) if second_encoder else ())
    return verdict([one for one in found if one.model == model])


def states(one):
    return {bound.measure.name: bound.state for bound in one.bounds}


def mark_trained(folder, name="model"):
    """As if a training of ours had left the model that wrote a run's answers."""
    path = folder / name / "config.json"
    config = json.loads(path.read_bytes())
    config.setdefault("loaded", {})["model_trained"] = True
    path.write_text(json.dumps(config), "utf-8")


def page_text(folder, tmp_path, **options):
    write_evaluation(tmp_path / "r.html", find_evaluated([str(folder)]), **options)
    page = (tmp_path / "r.html").read_text("utf-8")
    return english_text(page.split('id="answer">', 1)[1].split("</section>", 1)[0])


def test_one_list_said_again_and_again_is_not_ahead(scored, tmp_path):
    lists = [scored[-1]] * (7 * LISTS // 10) + scored[-3 * LISTS // 10 :]
    base_and(tmp_path, scored, lists)
    one = outcome(tmp_path, SecondEncoder())
    assert one.direction > 0
    assert states(one)["dat/unique_words"] == FELL
    assert word(tmp_path, SecondEncoder()) == MIXED
    said = page_text(tmp_path, tmp_path, base="base", second_encoder=SecondEncoder())
    assert re.search(r"model: gain with a loss: DAT, by ja-ginza \+0\.\d+, different words −\d\d\.\d%", said)
    assert "DAT improved; different words got worse." in said


def test_a_gain_that_keeps_everything_is_ahead(scored, tmp_path):
    folder = base_and(tmp_path, scored, scored[len(scored) // 2 :], n=len(scored) // 2)
    one = outcome(folder, SecondEncoder(gain=0.5))
    assert states(one) == dict.fromkeys(("dat/valid", "dat/unique_words", "dat/pairing"), HELD)
    assert word(folder, SecondEncoder(gain=0.5)) == AHEAD
    said = page_text(folder, tmp_path, base="base", second_encoder=SecondEncoder(gain=0.5))
    assert re.search(r"model: ahead: DAT, by ja-ginza \+0\.\d+, pairing by a second encoder \+0\.50 sd\. ", said)
    assert "DAT and pairing by a second encoder improved; no loss is shown." in said
    assert "One training each" not in said  # nothing says that it was trained


def test_only_of_what_was_trained_is_asked_whether_training_helped(scored, tmp_path):
    folder = base_and(tmp_path, scored, scored[-LISTS:])
    lists_run(folder / "other", "other", scored[:LISTS])
    assert "Which differ?" in page_text(folder, tmp_path, base="base")
    mark_trained(folder)
    assert "Which differ" in page_text(folder, tmp_path, base="base")  # of `other` nobody says so
    mark_trained(folder, "other")
    said = page_text(folder, tmp_path, base="base")
    assert "Did training help?" in said
    assert "One training each" in said


def test_without_a_second_encoder_nobody_is_ahead_and_the_page_says_what_to_do(scored, tmp_path):
    folder = base_and(tmp_path, scored, scored[len(scored) // 2 :], n=len(scored) // 2)
    one = outcome(folder)
    assert states(one)["dat/pairing"] == NOT_SHOWN
    assert word(folder) == NOT_TO_HOLD
    assert "not shown to hold: pairing by a second encoder." in page_text(folder, tmp_path, base="base")
    assert "none was asked: --second-encoder" in english_text((tmp_path / "r.html").read_text("utf-8"))


def test_a_second_encoder_that_loses_is_a_price(scored, tmp_path):
    folder = base_and(tmp_path, scored, scored[len(scored) // 2 :], n=len(scored) // 2)
    assert states(outcome(folder, SecondEncoder(gain=-2)))["dat/pairing"] == FELL
    assert word(folder, SecondEncoder(gain=-2)) == MIXED


def test_ten_lists_cannot_say_whether_words_are_kept(scored, tmp_path):
    folder = base_and(tmp_path, scored, scored[-10:], n=10)
    one = outcome(folder, SecondEncoder())
    assert one.direction > 0
    assert states(one)["dat/valid"] == NOT_SHOWN
    said = page_text(folder, tmp_path, base="base")
    assert "not shown to hold: usable answers" in said
    whole = english_text((tmp_path / "r.html").read_text("utf-8"))
    assert "cannot be said from 10" in whole
    assert "The smallest number behind an interval here is 10. Kinds of answers rarer than 25.9%" in whole


def test_invalid_lists_are_a_price(scored, tmp_path):
    broken = [words[:9] for words in scored[: LISTS // 2]]
    one = outcome(base_and(tmp_path, scored, [*broken, *scored[-LISTS:]], n=2 * LISTS))
    assert states(one)["dat/valid"] == FELL


def test_dictionary_samplers_are_in_no_count(scored, tmp_path):
    folder = base_and(tmp_path, scored, scored[-LISTS:])
    lists_run(folder / "top", "frontier 1000", scored[-10:], model="frontier")
    lists_run(folder / "chance", "random", scored[:10], model="random")
    found = outcomes(compare_models(find_evaluated([str(folder)]), "base"))
    assert [one.model for one in found] == ["model"]
    said = page_text(folder, tmp_path, base="base")
    assert not re.search("frontier 1000: (ahead|behind|gain|no)", said)
    assert "random, frontier 1000: lists that a program drew" in said
    # Without a model to compare, nobody is said to have the highest mean either.
    alone = page_text(folder / "top", tmp_path)
    assert "Nothing here was compared" in alone
    shutil.rmtree(folder / "model")
    drawn = page_text(folder, tmp_path, base="base")
    assert "Beside base there are only lists that a program drew." in drawn
    assert "baseのほかには、プログラムが生成したリストしかない。" in (tmp_path / "r.html").read_text("utf-8")


def test_the_base_is_a_model_even_if_a_sampler_comes_first(scored, tmp_path):
    lists_run(tmp_path / "a", "a sampler", scored[-10:], model="random")
    base_and(tmp_path, scored, scored[-LISTS:])
    compared = compare_models(find_evaluated([str(tmp_path)]))
    assert {name: method.name for name, method in compared.against.items()} == {"a sampler": "base", "model": "base"}


def test_missing_stories_and_broken_conditions_are_prices(tmp_path):
    far = "深夜の工場では、機械が静かに夢を見ていた。" * 20
    kept = {story.id: k for k, story in enumerate(load_stories())}
    sat_run(tmp_path / "base", "base", lambda story: story.text)
    sat_run(tmp_path / "model", "model", lambda story: "" if kept[story.id] < 26 else far)
    sat_run(tmp_path / "short", "short", lambda story: "夜の工場だ。")
    one, short = (outcome(tmp_path, task="sat", model=name) for name in ("model", "short"))
    assert one.direction > 0
    assert states(one)["sat/scored"] == FELL
    assert short.direction > 0
    assert states(short)["sat/compliant"] != HELD
    assert word(tmp_path, model="model") == MIXED
    assert word(tmp_path, model="short") == MIXED


def test_what_the_base_does_not_have_cannot_be_kept(tmp_path):
    sat_run(tmp_path / "base", "base", lambda story: "昔の話。")
    sat_run(tmp_path / "model", "model", lambda story: "夜の工場だ。")
    one = outcome(tmp_path, task="sat")
    assert states(one)["sat/compliant"] == NOT_SHOWN  # 0 of 113 on both sides: nothing was kept


def jcq(folder, name, gain):
    questions = trial_questions()
    jcq_run(folder / f"{name}-jcq", name, str, lambda q: tuple(min(5, 3 + gain(questions.index(q))) for _ in range(4)))


@pytest.mark.parametrize("share", [0.1, 0.15, 0.2, 0.25, 0.3, 0.4])
def test_p_is_below_5_percent_exactly_where_the_headline_interval_leaves_0(scored, tmp_path, share):
    base_and(tmp_path, scored, scored[int(0.45 * len(scored)) :][:LISTS])
    jcq(tmp_path, "base", lambda k: 0)
    jcq(tmp_path, "model", lambda k: 2 * (k % 20 < 20 * share) - (k % 7 == 0))
    for task in ("dat", "jcq"):
        one = outcome(tmp_path, task=task)
        assert one.level == pytest.approx(1 - 0.05 / 2)
        assert (one.p < 0.05) == (one.change.low > 0 or one.change.high < 0)
    page_text(tmp_path, tmp_path, base="base")
    assert "interval of 97.5%" in english_text((tmp_path / "r.html").read_text("utf-8"))
    assert sum("but of 97.5" in path.read_text("utf-8") for path in tmp_path.glob("r-tables/*.tex")) == 2


def test_no_sentence_chooses_one_of_many(scored, tmp_path):
    base_and(tmp_path, scored, scored[-LISTS:])
    for k in range(3):
        lists_run(tmp_path / f"m{k}", f"m{k}", scored[-(k + 2) * LISTS :][:LISTS])
    page_text(tmp_path, tmp_path, base="base")
    said = english_text((tmp_path / "r.html").read_text("utf-8"))
    assert "best" not in said.split("All columns")[0]


def test_the_answer_comes_first_with_title_and_date(scored, tmp_path):
    folder = base_and(tmp_path, scored, scored[-LISTS:])
    write_evaluation(tmp_path / "r.html", find_evaluated([str(folder)]), base="base", title="My runs")
    page = (tmp_path / "r.html").read_text("utf-8")
    first = english_text(page.split("<h1>", 1)[1].split("<h2", 1)[0])
    about = f"{datetime.now(UTC):%Y-%m-%d} · Divergent Association Task (DAT): {LISTS} answers each"
    assert first.startswith(f"My runs{about}")
    assert "Which differ?" in first


def test_the_judges_own_noise_is_in_the_interval_where_the_same_answers_were_judged_twice(tmp_path):
    def scores(shift):
        return lambda q: (3, 3, 3 + (trial_questions().index(q) % 3 == 0) + shift(trial_questions().index(q)), 3)

    for name, source, shift in (("a", "base", lambda k: 0), ("b", "model", lambda k: k % 2)):
        jcq_run(tmp_path / name, source, lambda q, source=source: f"{source}の答え", scores(shift))
    alone = outcome(tmp_path, task="jcq")
    jcq_run(tmp_path / "c" / "again", "base", lambda q: "baseの答え", scores(lambda k: 2 - (k % 5 == 0)))
    places = [str(tmp_path / "a"), str(tmp_path / "b"), f"again={tmp_path / 'c'}"]
    found = outcomes(compare_models(find_evaluated(places), "base"))
    judged = next(one for one in found if one.model == "model")
    assert judged.judge_noise == pytest.approx(0.45 / 2**0.5, abs=0.03)  # 1.8 of four criteria, of a mean
    assert judged.change.low < alone.change.low
    assert judged.p > alone.p


def test_over_seeds_bounds_are_over_the_seeds(scored, tmp_path):
    half = len(scored) // 2
    lists_run(tmp_path / "base", "base", np.random.default_rng(1).permutation(scored)[:half].tolist())
    for seed in range(3):
        lists_run(tmp_path / f"A{seed}", f"A@{seed}", scored[half - 20 * seed :][:half])
    one = outcome(tmp_path, SecondEncoder(gain=0.5), model="A")
    assert one.direction > 0
    assert {bound.change.n for bound in one.bounds} == {3}
    assert states(one)["dat/pairing"] == HELD
    assert "A: no difference shown to hold: DAT, by ja-ginza +0." in page_text(
        tmp_path, tmp_path, base="base", second_encoder=SecondEncoder(gain=0.5)
    )


def test_of_many_methods_the_first_sentence_says_how_many_came_out_as_what(scored, tmp_path):
    lists_run(tmp_path / "base", "base", np.random.default_rng(1).permutation(scored)[:LISTS].tolist())
    for k in range(7):
        lists_run(tmp_path / f"m{k}", f"m{k}", [scored[-1]] * 40 + scored[-LISTS + 40 :])
    said = page_text(tmp_path, tmp_path, base="base")
    assert "7 models: 7 gain with a loss." in said
    assert "m3:" not in said


def test_a_price_is_said_where_nothing_was_gained_too(scored, tmp_path):
    """A model that says nothing valid any more has no mean to be lower: what it lost is said all the same."""
    base_and(tmp_path, scored, [words[:9] for words in scored[:LISTS]])
    jcq(tmp_path, "base", lambda k: k % 3)
    one = outcome(tmp_path)
    assert one.direction == 0
    assert states(one)["dat/valid"] == FELL
    said = page_text(tmp_path, tmp_path, base="base")
    assert re.search(r"model: behind: usable answers \(DAT\) −\d+\.\d\d pp\.", said)
    assert word(tmp_path) == BEHIND


def test_no_end_is_outside_the_scale(tmp_path):
    for k, name in enumerate(("base", "model")):
        jcq_run(tmp_path / name, name, lambda q, name=name: name, lambda q, k=k: (5, 5, 5 - (len(q.id) == k), 5))
    for k in range(2):
        sat_run(tmp_path / f"A{k}", f"A@{k}", lambda story, k=k: "昔の話。" if k else story.text)
    models = find_evaluated([str(tmp_path)])
    write_evaluation(tmp_path / "r.html", models)
    page = english_text((tmp_path / "r.html").read_text("utf-8"))
    for low, high in re.findall(r"\[(\d+\.\d+), (\d+\.\d+)%\]", page):
        assert 0 <= float(low) <= float(high) <= 100
    assert not re.search(r"\[[1-5]\.\d\d, 5\.(?!00)\d\d\]", page)


def test_understanding_that_was_lost_is_no_difference_that_is_not_shown(tmp_path):
    def mostly(right):
        return lambda item: truthful(item) if hash_of(item) % 100 < right else "どちらともいえない"

    for name, right in (("base", 100), ("kept", 100), ("lost", 30)):
        run_of(tmp_path / name, mostly(right), source=name, sipen_prompt="sipen-ja-v2")
    found = {one.model: one for one in outcomes(compare_models(find_evaluated([str(tmp_path)]), "base"))}
    states = {name: [bound.state for bound in one.bounds] for name, one in found.items()}
    assert states == {"kept": [HELD, HELD], "lost": [FELL, FELL]}
    write_evaluation(tmp_path / "r.html", find_evaluated([str(tmp_path)]), base="base")
    said = english_text((tmp_path / "r.html").read_text("utf-8"))
    assert re.search(r"lost: behind: understanding −\d\d\.\d\d pp, ", said)
    assert "kept: no difference shown." in said


def hash_of(item):
    return int(sha256(item.premise_id.encode()).hexdigest(), 16)


MIRROR = dict(zip(WORDS, (BEHIND, MIXED, AHEAD, SAME, NOT_TO_HOLD), strict=True))


def random_tasks(random):
    """Changes of first measures and of their bounds, as two models may differ: (difference, low, high) each."""
    tasks = []
    for _ in range(random.integers(1, 4)):
        changes = []
        for _ in range(random.integers(1, 5)):
            difference, half = random.normal(0, 0.1), abs(random.normal(0, 0.08))
            changes.append((difference, difference - half, difference + half))
        tasks.append(changes)
    return tasks


def as_outcomes(tasks, sign=1):
    bound = Bound(measure=Measure("t/valid", share=True), margin=0.05, least=30)
    found = []
    for first, *bounds in tasks:
        first, *bounds = ([sign * end for end in (d, *((low, high)[::sign]))] for d, low, high in (first, *bounds))
        change = Change(99, 99, *first, model="a", base="b", column="t")
        states = tuple(judged(bound, Comparison(99, 99, *ends)) for ends in bounds)
        found.append(MethodOutcome("t", "a", "b", Measure("t"), change, bounds=states))
    return found


def test_seen_from_the_base_ahead_is_behind_and_nothing_else_changes():
    random, seen = np.random.default_rng(5), set()
    for _ in range(4000):
        tasks = random_tasks(random)
        there, back = as_outcomes(tasks), as_outcomes(tasks, -1)
        assert verdict(back) == MIRROR[verdict(there)]
        for one, other in zip(there, back, strict=True):
            assert (one.direction, len(one.open)) == (-other.direction, len(other.open))
            assert [g.state for g in one.bounds] == [g.of_base for g in other.bounds]
        if verdict(there) == AHEAD:
            assert all(bound.state == HELD for one in there if one.direction > 0 for bound in one.bounds)
            assert not any(one.worse for one in there)
        seen.add(verdict(there))
    assert seen == set(WORDS)


@pytest.mark.parametrize("seed", range(6))
def test_with_another_base_whole_runs_swap_signs_and_words(scored, tmp_path, seed):
    random = np.random.default_rng(seed)
    far, questions = "深夜の工場では、機械が静かに夢を見ていた。" * 20, trial_questions()
    for name in ("base", "model"):
        first, bad, lost = (
            random.integers(0, len(scored) - LISTS),
            random.integers(0, LISTS // 3),
            random.integers(0, 113),
        )
        lists = [words[: 9 if k < bad else 10] for k, words in enumerate(scored[first:][:LISTS])]
        lists_run(tmp_path / f"{name}-dat", name, lists)
        gain = random.integers(0, 3, len(questions))
        jcq_run(tmp_path / f"{name}-jcq", name, str, lambda q, gain=gain: (2 + int(gain[questions.index(q)]), 3, 3, 3))
        cut = {story.id for story in load_stories()[:lost]}
        sat_run(tmp_path / f"{name}-sat", name, lambda s, cut=cut: far if s.id in cut else "夜の工場だ。")
    models = find_evaluated([str(tmp_path)])
    there, back = (outcomes(compare_models(models, base)) for base in ("base", "model"))
    assert verdict(back) == MIRROR[verdict(there)]
    for one, other in zip(there, back, strict=True):
        assert one.change.difference == pytest.approx(-other.change.difference)
        assert (one.change.low, one.change.high) == pytest.approx((-other.change.high, -other.change.low))
        assert [(g.state, g.of_base) for g in one.bounds] == [(g.of_base, g.state) for g in other.bounds]


def test_what_the_base_lacks_is_said_as_what_a_model_lacks(tmp_path):
    kept = {story.id: "深夜の工場では、機械が静かに夢を見ていた。" * 19 for story in load_stories()}
    sat_run(tmp_path / "gamma", "gamma", lambda story: "夜の工場だ。")
    sat_run(tmp_path / "alpha", "alpha", lambda story: kept[story.id])
    for base, other, verb in (("alpha", "gamma", "fell"), ("gamma", "alpha", "rose")):
        said = page_text(tmp_path, tmp_path, base=base)
        counts = {"alpha": "113 of 113", "gamma": "0 of 113"}
        whole = english_text((tmp_path / "r.html").read_text("utf-8"))
        assert f"{verb}{counts[base]} → {counts[other]}" in whole
        assert f"{other}: gain with a loss:" in said


def control(state, of_base=NOT_SHOWN):
    bound = BoundState(Measure("c"), state, Comparison(), of_base)
    change = Change(model="a", base="b", column="c")
    return MethodOutcome("c", "a", "b", Measure("c"), change, bounds=(bound,), is_control=True)


def test_a_control_can_only_lose():
    gain, loss = as_outcomes([[(0.3, 0.2, 0.4)]]), as_outcomes([[(-0.3, -0.4, -0.2)]])
    assert verdict([control(FELL)]) == BEHIND
    assert verdict([*gain, control(FELL)]) == MIXED
    assert verdict([control(HELD, FELL)]) == SAME
    assert verdict([*gain, control(HELD, FELL)]) == AHEAD
    assert verdict([*loss, control(HELD, FELL)]) == MIXED
    assert verdict([*loss, control(FELL)]) == BEHIND
