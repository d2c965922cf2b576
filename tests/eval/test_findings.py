"""What differs from the base: states, levels, targets and counts, in worlds in which one number alone would mislead."""

from pathlib import Path

import numpy as np
import pytest

from fakes import list_text
from finding_rows import rows_of, states
from finished_runs import jcq_run, lists_run, sat_run
from run_files import change_config
from sentences import refused
from sozo.data.nouns import tiny_nouns
from sozo.eval.compare import compare_models
from sozo.eval.evaluated import find_evaluated
from sozo.eval.findings import (
    HIGHER,
    LOWER,
    NO_INTERVAL,
    NOT_APART,
    NOT_COMPARED,
    findings,
    findings_of_all,
)
from sozo.eval.report.answer import first_screen
from sozo.eval.report.contents import report_tables
from sozo.eval.report.labels import english
from sozo.models.trained_on import NO, NOT_KNOWN, YES
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.second_encoder import GainParts
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat
from sozo.tasks.jcq.questions import trial_questions
from sozo.tasks.run_result import RunResult
from sozo.tasks.sat.stories import load_stories

NOUNS = tiny_nouns()[:600]
LISTS = 120
MEASURES = {
    "dat",
    "dat/usable",
    "dat/different_words",
    "jcq/mean",
    "jcq/scored",
    "jcq/complete",
}
MEASURES |= {"sat/kept", "sat/scored", "sat/complete", "sat/compliant"}
FAR = "深夜の工場では、機械が静かに夢を見ていた。" * 20
OPPOSITE = {
    HIGHER: LOWER,
    LOWER: HIGHER,
    NOT_APART: NOT_APART,
    NO_INTERVAL: NO_INTERVAL,
    NOT_COMPARED: NOT_COMPARED,
}


class SecondEncoder:
    """It sees what it is told to see: so much more pairing. Its total is a choice of words' and high."""

    class encoder:  # noqa: N801
        name, revision = "second", "1"

    def __init__(self, gain=0.0):
        self.gain = gain

    def see(self, run):
        return run.seen_by(self)

    def over(self, base, level=0.95):
        self.gain += 0.001  # no two seeds are equal
        half = {"n": 400, "base_n": 400, "level": level}
        total, pairing = (
            Estimate(value, value - 0.05, value + 0.05, **half)
            for value in (9.0, self.gain)
        )
        return GainParts(1.0, total, total, total, total, total, pairing)


@pytest.fixture(autouse=True)
def told(monkeypatch):
    monkeypatch.setattr(
        "sozo.tasks.dat.summary.DatRunResult.seen_by",
        lambda run, second_encoder: second_encoder,
    )


@pytest.fixture(scope="module")
def scored():
    """Lists of the same nouns, the nearest first: a model's gain is to draw from the far end."""
    random = np.random.default_rng(0)
    lists = [
        [NOUNS[i] for i in random.choice(len(NOUNS), 10, replace=False)]
        for _ in range(8 * LISTS)
    ]
    rows = Dat(DatSettings(noun_checker="jumandic")).scorer.score(
        [list_text(words) for words in lists]
    )
    usable = [k for k in np.argsort(rows.scores) if rows.codes[k] == 0]
    return [lists[k] for k in usable]


def base_and(folder, scored, lists, n=LISTS):
    lists_run(
        folder / "base",
        "base",
        [scored[k] for k in np.random.default_rng(1).permutation(len(scored))[:n]],
    )
    lists_run(folder / "model", "model", lists)
    return folder


def with_broken(scored):
    """As many more of nine words, so that not every list is usable."""
    return [*scored, *(words[:9] for words in scored)]


def jcq(folder, name, gain=lambda k: 0, judge="judge-a"):
    questions = trial_questions()
    score = lambda q: tuple(min(5, 3 + gain(questions.index(q))) for _ in range(4))  # noqa: E731
    jcq_run(folder / f"{name}-jcq", name, str, score, judge=judge)


def trained(folder, name, *trainings):
    """As if trainings of ours had left the model that wrote a run's answers: (task, measure, encoder) each."""
    named = [
        {
            "task": task,
            "measure": measure,
            "encoder": encoder,
            "judge": None,
            "by": "grpo",
        }
        for task, measure, encoder in trainings
    ]
    change_config(folder / name, "loaded", model_trained=True, trained_on=named)


# States.


def test_one_list_said_again_and_again_is_higher_and_has_fewer_words(scored, tmp_path):
    base_and(
        tmp_path, scored, [scored[-1]] * (7 * LISTS // 10) + scored[-3 * LISTS // 10 :]
    )
    rows = rows_of(tmp_path, SecondEncoder())
    assert rows["dat"].state == HIGHER
    words = rows["dat/different_words"]
    assert (words.state, words.kind, words.unit, words.of) == (
        LOWER,
        "ratio",
        "",
        LISTS,
    )
    assert words.estimate.value == pytest.approx(words.value / words.base_value)
    assert words.estimate.high < 1
    assert rows["dat/gain_pairing"].state == NOT_APART


def test_without_a_usable_list_the_score_is_not_compared_and_usable_is_lower(
    scored, tmp_path
):
    found = states(base_and(tmp_path, scored, [words[:9] for words in scored[:LISTS]]))
    assert (found["dat"], found["dat/usable"]) == (NOT_COMPARED, LOWER)


# Who is compared with whom.


def test_the_base_is_a_model_even_if_drawn_lists_come_first(scored, tmp_path):
    lists_run(tmp_path / "a", "a sampler", scored[-10:], model="random")
    base_and(tmp_path, scored, scored[-LISTS:])
    compared = compare_models(find_evaluated([str(tmp_path)]))
    assert {name: base.name for name, base in compared.bases.items()} == {
        "a sampler": "base",
        "model": "base",
    }
    with refused("compare: no such base"):
        compare_models(find_evaluated([str(tmp_path)]), "x")


def test_all_pairs_are_of_models_and_once_each(scored, tmp_path):
    base_and(tmp_path, scored, scored[-LISTS:])
    lists_run(tmp_path / "random", "random", scored[:10], model="random")
    lists_run(tmp_path / "third", "third", scored[:LISTS])
    found = findings_of_all(find_evaluated([str(tmp_path)]))
    assert {(row.base, row.model) for row in found.rows if row.base} == {
        ("base", "model"),
        ("base", "third"),
        ("model", "third"),
    }
    told = [row for row in found.rows if row.estimate.low is not None and row.base]
    levels = {row.estimate.level for row in told}
    assert levels == {1 - (1 - 0.95) / len(told)}  # all of them hold at once


def test_a_model_called_like_a_task_keeps_its_name(scored, tmp_path):
    for k, name in enumerate(("a", "dat")):
        lists_run(tmp_path / name, name, scored[10 * k : 10 * k + 20])
    lines = [*first_screen(findings(find_evaluated([str(tmp_path)]))).lines()]
    assert any(line.startswith("dat: ") for line in lines)


@pytest.mark.parametrize("seed", range(2))
def test_with_another_base_signs_and_states_swap_and_nothing_else_does(
    scored, tmp_path, seed
):
    random, questions = np.random.default_rng(seed), trial_questions()
    for name in ("base", "model"):
        first, bad, lost = (
            int(random.integers(0, most))
            for most in (len(scored) - LISTS, LISTS // 3, 113)
        )
        lists = [
            words[: 9 if k < bad else 10]
            for k, words in enumerate(scored[first:][:LISTS])
        ]
        lists_run(tmp_path / f"{name}-dat", name, lists)
        gain = random.integers(0, 3, len(questions))
        jcq_run(
            tmp_path / f"{name}-jcq",
            name,
            str,
            lambda q, gain=gain: (2 + int(gain[questions.index(q)]), 3, 3, 3),
        )
        cut = {story.id for story in load_stories()[:lost]}
        sat_run(
            tmp_path / f"{name}-sat",
            name,
            lambda s, cut=cut: FAR if s.id in cut else "夜の工場だ。",
        )
    there, back = rows_of(tmp_path), rows_of(tmp_path, base="model", model="base")
    assert there.keys() == back.keys() == MEASURES
    for name, row in there.items():
        mirrored, known = back[name].estimate, row.estimate
        assert back[name].state == OPPOSITE[row.state]
        assert (row.value, row.base_value) == (back[name].base_value, back[name].value)
        assert (mirrored.level, mirrored.p) == (
            known.level,
            pytest.approx(known.p, abs=1e-12),
        )
        turned = (lambda x: 1 / x) if row.kind == "ratio" else (lambda x: -x)
        if known.low is not None:
            ends = turned(known.value), turned(known.high), turned(known.low)
            assert (mirrored.value, mirrored.low, mirrored.high) == pytest.approx(
                ends, abs=1e-9
            )


# Levels: 0.025 for the tasks' first measures, 0.025 for the others, in equal parts.


def levels(folder, second=None, **names):
    return {
        name: row.estimate.level
        for name, row in rows_of(folder, second, **names).items()
    }


def share_of(k):
    return pytest.approx(1 - 0.025 / k)


def test_levels_are_fixed_by_the_tasks_whatever_flags_were_given(scored, tmp_path):
    base_and(tmp_path, with_broken(scored), scored[-LISTS:])
    # Usable lists, different words and pairing: pairing counts whether or not a second encoder was asked.
    alone = {
        "dat": share_of(1),
        "dat/usable": share_of(3),
        "dat/different_words": share_of(3),
    }
    assert levels(tmp_path) == alone
    assert levels(tmp_path, SecondEncoder()) == alone | {
        "dat/gain_pairing": share_of(3)
    }
    sat_run(tmp_path / "b-sat", "base", lambda story: story.text)
    none = load_stories()[0].id
    sat_run(tmp_path / "m-sat", "model", lambda story: "" if story.id == none else FAR)
    both = levels(tmp_path, SecondEncoder())
    first = ("dat", "sat/kept")
    assert both == {name: share_of(2 if name in first else 6) for name in both}
    assert len(both) == 8


def test_what_both_have_in_full_and_what_is_not_compared_count_for_nothing(
    scored, tmp_path
):
    base_and(tmp_path, scored, scored[-LISTS:])
    assert levels(tmp_path)["dat/different_words"] == share_of(
        2
    )  # every list is usable on both sides
    jcq(tmp_path, "base")
    jcq(tmp_path, "model", lambda k: k % 2, judge="judge-b")
    found = levels(tmp_path)
    # By another judge neither the score nor what has one is compared, and all answers are complete.
    assert found["dat"] == share_of(1)
    assert found["dat/different_words"] == share_of(2)
    jcq(tmp_path / "again", "model", lambda k: k % 2)
    (tmp_path / "model-jcq").rename(tmp_path.parent / f"{tmp_path.name}-away")
    assert levels(tmp_path)["dat"] == levels(tmp_path)["jcq/mean"] == share_of(2)


def test_targets_count_for_nothing_and_are_told_by_measure(scored, tmp_path):
    base_and(tmp_path, with_broken(scored), scored[-LISTS:])
    assert {row.target for row in rows_of(tmp_path, SecondEncoder()).values()} == {
        NOT_KNOWN
    }
    trained(tmp_path, "model", ("dat", "dat", "ja-ginza"))
    rows = rows_of(tmp_path, SecondEncoder())
    assert {name: row.target for name, row in rows.items()} == {
        "dat": YES,
        "dat/usable": YES,  # an unusable list is paid 0
        "dat/different_words": NO,
        "dat/gain_pairing": NO,
    }
    assert rows["dat/different_words"].estimate.level == share_of(2)
    assert rows["dat"].state == HIGHER  # a fact all the same
    trained(tmp_path, "model", ("dat", "dat", "second"))
    assert rows_of(tmp_path, SecondEncoder())["dat/gain_pairing"].target == YES
    trained(tmp_path, "model", ("sat", "sat", "ja-ginza"))
    assert {row.target for row in rows_of(tmp_path, SecondEncoder()).values()} == {NO}
    trained(tmp_path, "model", ("dat", "dat/different_words", None))
    assert rows_of(tmp_path)["dat/different_words"].target == YES
    trained(tmp_path, "model", ("not recorded", "not recorded", "not recorded"))
    assert {row.target for row in rows_of(tmp_path, SecondEncoder()).values()} == {
        NOT_KNOWN
    }


@pytest.mark.parametrize("share", [0.1, 0.2, 0.25, 0.3])
def test_the_corrected_p_is_below_5_percent_exactly_where_an_interval_leaves_out_0(
    scored, tmp_path, share
):
    base_and(tmp_path, scored, scored[int(0.45 * len(scored)) :][:LISTS])
    jcq(tmp_path, "base")
    jcq(tmp_path, "model", lambda k: 2 * (k % 20 < 20 * share) - (k % 7 == 0))
    rows = [row for row in rows_of(tmp_path).values() if row.p_corrected is not None]
    assert {row.measure.name for row in rows} >= {"dat", "jcq/mean"}
    for row in rows:
        assert (row.p_corrected < 0.05) == (row.state in (HIGHER, LOWER)), row


# What intervals hold.


def gains_of(folder, model):
    """Of a method's gains by their names."""
    rows = findings(find_evaluated([str(folder)]), "base", SecondEncoder()).rows
    return {
        row.column: row.estimate
        for row in rows
        if (row.model, row.base) == (model, "base")
    }


def test_gains_over_seeds_share_the_error_of_a_base_that_stands_behind_several(
    scored, tmp_path
):
    for k, name in enumerate(
        ("base@1", "base@2", "base@3", "A@1", "A@2", "A@3", "B@7", "B@8", "B@9")
    ):
        lists_run(tmp_path / name, name, scored[20 * k :][:LISTS])
    paired, apart = (
        gains_of(tmp_path, "A")["gain_own"],
        gains_of(tmp_path, "B")["gain_own"],
    )
    assert paired.low is not None
    assert (apart.low, apart.reason) == (
        None,
        "from one run",
    )  # no seed of B has a base of its own


def test_a_gain_by_two_own_encoders_says_in_what_they_differ(scored, tmp_path):
    base_and(tmp_path, scored, scored[-LISTS:])
    change_config(tmp_path / "model", "loaded", scorer={"embedding_model": "e5"})
    gains = gains_of(tmp_path, "model")
    assert (gains["gain_own"].value, gains["gain_pairing"].low is None) == (None, False)
    assert gains["gain_own"].reason.startswith("embedding_model is ")


def test_a_further_judge_is_a_column_and_no_model(tmp_path):
    points = {
        ("base", "judge-a"): lambda k: k % 2,
        ("base", "judge-b"): lambda k: (k + 1) % 2,
        ("model", "judge-a"): lambda k: 1 + k % 2,
        ("model", "judge-b"): lambda k: 1 + (k + 1) % 2,
    }
    for (name, judge), more in points.items():
        jcq(tmp_path / judge, name, more, judge=judge)
    found = findings(find_evaluated([str(tmp_path)]))
    assert [method.name for method in found.compared.methods] == ["base", "model"]
    by_judge = found.difference("model", "base", Measure("jcq/mean by judge-b"))
    assert (by_judge.estimate.value, by_judge.by) == (pytest.approx(1), "judge-b")
    assert found.mean("model", "jcq", "mean by judge-b").by == "judge-b"
    # What no judge decides stands once, and all judges' scores share one level.
    rows = [row for row in found.rows if row.base and row.first]
    names = [row.measure.name for row in rows]
    assert len(names) == len(set(names))
    levels = [row.estimate.level for row in rows if row.measure.short[:4] == "mean"]
    assert levels == [share_of(2)] * 2
    (table, *_) = [made.table for made in report_tables(found)]
    assert [english(name) for name in table.columns][1:3] == [
        "score",
        "score by judge-b",
    ]


@pytest.mark.parametrize("how", [{"share": True}, {"scale": (0, 1)}])
def test_all_against_nothing_is_a_difference_with_an_interval(how):
    measure = Measure("toy", **how)
    none, every = (RunResult("toy", measure, Path(), {}, {}, {}) for _ in range(2))
    for run, value in ((none, 0.0), (every, 1.0)):
        vars(run).update(items={}, _by_item={measure: dict.fromkeys("abcdefgh", value)})
    known = every.against(none, measure)
    assert (known.value, known.sign) == (1, 1)
    assert 0 < known.low < known.high == 1
    assert every.against(every, measure).sign == 0
