"""A judge for each expert: World W beside a reference program's figures, leaks, votes, dummies, price."""

import json
from dataclasses import replace
from itertools import product
from statistics import fmean

import numpy as np
import pytest

from command_line import sozo
from expert_world import CRITERION, RUBRIC, predicted, reply, world, world_judge
from sentences import refused, says
from sozo.scoring.embeddings import WordVectors
from sozo.scoring.endpoint.bill import Price
from sozo.scoring.judges.protocol import JudgeSettings
from sozo.studies.experts.analysis import (
    difference,
    own_median,
    pooled,
    within,
)
from sozo.studies.experts.asks import (
    LOW_CONFIDENCE,
    NO_VOTES,
    TIE,
    UNPARSEABLE,
    ask_for_all,
    asking_size,
    predict,
)
from sozo.studies.experts.histories import HISTORIES, Condition, Plan, conditions_of
from sozo.studies.experts.page import reasons_figure
from sozo.studies.experts.rated import Rated
from sozo.studies.experts.reasons import reasons_of
from sozo.studies.experts.run import judge_experts, seeded_judges
from sozo.studies.experts.settings import ExpertSettings
from sozo.studies.rubric import RatingRubric
from sozo.suite.rubrics import Criterion
from sozo.suite.rubrics.criterion import CriterionVerdict

SHOTS = (1, 2, 5, 10)
CONDITIONS = conditions_of(HISTORIES, SHOTS)
# Means and standard deviations over twelve seeds of a reference program: prediction -> pooled, within.
NOISE = 0.3
WORLD = {
    "zero": ((0.269, 0.064), (0.234, 0.059)),
    "diff 10": ((0.170, 0.065), (0.146, 0.066)),
    "same 1": ((0.488, 0.047), (0.432, 0.045)),
    "same 2": ((0.693, 0.027), (0.640, 0.038)),
    "same 5": ((0.897, 0.019), (0.865, 0.029)),
    "same 10": ((0.934, 0.008), (0.906, 0.016)),
    "own median 10": ((0.275, 0.075), (-0.083, 0.055)),
}


def run(
    ratings, folder, *, conditions=CONDITIONS, judges=None, judging=None, **settings
):
    settings = ExpertSettings(**{"min_confidence": 0, **settings})
    judging = judging or JudgeSettings(judge_model="w")
    return judge_experts(
        Plan(ratings, RUBRIC, conditions),
        judges or [world_judge()],
        folder,
        judging,
        settings,
    )


def rows(folder):
    values = json.loads((folder / "experts.json").read_text("utf-8"))
    return {row["name"]: row for row in values["rows"]}, values


def test_twelve_worlds_have_the_reference_programs_means():
    values = {name: ([], []) for name in WORLD}
    for seed in range(12):
        ratings = world(seed, NOISE)
        scores = {c.name: predicted(ratings, c) for c in CONDITIONS if c.name in values}
        scores["own median 10"] = own_median(ratings, Plan(ratings, RUBRIC, ()), 10)
        for name, given_scores in scores.items():
            for kept, measured in zip(values[name], (pooled, within), strict=True):
                kept.append(measured(ratings, given_scores, "ordinal", 10).alpha)
    for name, both in values.items():
        for kept, (mean, sd) in zip(both, WORLD[name], strict=True):
            # Four standard errors; both are means over twelve seeds.
            assert (
                abs(fmean(kept) - mean) <= 4 * sd * (1 / 12 + 1 / 12) ** 0.5 + 0.001
            ), (name, fmean(kept), mean)


def test_the_confidence_rule_says_how_few_it_keeps(tmp_path):
    ratings = world(2)
    run(ratings, tmp_path / "out", conditions=conditions_of(["diff", "same"], [10]))
    lines = (tmp_path / "out" / "judgements.jsonl").read_bytes()
    again = run(
        ratings,
        tmp_path / "out",
        conditions=conditions_of(["diff", "same"], [10]),
        min_confidence=80,
    )
    assert (
        tmp_path / "out" / "judgements.jsonl"
    ).read_bytes() == lines  # nobody was asked again
    by_name, values = rows(tmp_path / "out")
    assert by_name["same 10"]["kept"] == 1
    assert 0.1 < by_name["diff 10"]["kept"] < 0.4
    assert f"{values['compared'][0]['within']['n']} of 270" in again.page


def test_no_prompt_knows_the_answer(tmp_path):
    seen, ratings = [], world(3, 0.3)
    run(
        ratings,
        tmp_path,
        judges=[world_judge(0, lambda prompt: seen.append(prompt) or reply(prompt))],
    )
    assert all(
        prompt.count("# Input") == 1 and "Score: " not in prompt.split("# Input")[1]
        for prompt in seen
    )
    plan = Plan(ratings, RUBRIC, CONDITIONS)
    for rating, condition, seed in product(ratings, CONDITIONS, range(2)):
        examples = plan.examples(rating, condition, seed)
        assert len(examples) == condition.shots
        assert rating.patent not in {example.patent for example in examples}
        assert {example.rater == rating.rater for example in examples} <= {
            condition.history == "same"
        }


def test_other_ideas_of_the_patent_and_other_fields_are_no_examples():
    def rating(rater, item, patent, domain, score):
        return Rated(rater, item, patent, domain, "worth", score, f"{item} of {patent}")

    target = rating("a", "i1", "p1", "NLP", 1)
    ratings = [
        *(target, rating("a", "i2", "p1", "NLP", 2), rating("a", "i3", "p2", "NLP", 3)),
        *(
            rating("b", "i1", "p1", "NLP", 4),
            rating("b", "i4", "p3", "NLP", 5),
            rating("c", "i5", "p4", "CS", 1),
        ),
    ]
    same, diff = (
        next(Plan(ratings, RUBRIC, [Condition(h, 9)]).asks([target], 0)).question
        for h in ("same", "diff")
    )
    assert same == "# Examples\nExample 1\ni3 of p2\nScore: 3\n\n"
    assert diff == "# Examples\nExample 1\ni4 of p3\nScore: 5\n\n"


HIGH, LOW = CriterionVerdict(4, "", 80), CriterionVerdict(2, "", 79)


@pytest.mark.parametrize(
    ("votes", "score", "reason"),
    [
        ([], None, NO_VOTES),
        ([None, None], None, UNPARSEABLE),
        ([None, LOW], None, LOW_CONFIDENCE),
        ([HIGH, CriterionVerdict(3, "", 99), None], None, TIE),
        ([HIGH, LOW, None], 4, None),
        (
            [HIGH, CriterionVerdict(2, "", 99), CriterionVerdict(2, "", 80)],
            2,
            None,
        ),  # the majority
        (
            [HIGH, CriterionVerdict(5, "", 99), CriterionVerdict(1, "", 80)],
            None,
            TIE,
        ),  # three scores have no majority: the paper takes it of three seeds, and does not say what then
    ],
)
def test_votes(votes, score, reason):
    assert (predict(votes, 80).score, predict(votes, 80).reason) == (score, reason)


def test_a_world_without_experts_has_no_difference(monkeypatch):
    monkeypatch.setattr("sozo.studies.experts.analysis.PERMUTATIONS", 1)
    held = 0
    for seed in range(40):
        ratings = world(seed, 0.3, experts=[(0, 0)] * 9)
        first, second = (
            predicted(ratings, Condition(history, 5)) for history in ("same", "diff")
        )
        gap = difference(ratings, first, second, "ordinal", 10)
        held += gap.low <= 0 <= gap.high
    assert held >= 35  # with 100 seeds at least 88


def test_a_budget_that_ends_early_and_what_is_left(tmp_path):
    ratings = world(4)[:60]
    price = {"judge_price_in": 1000.0, "judge_price_out": 1000.0}
    judging = JudgeSettings(
        judge_model="w", judge_max_tokens=50, **price, max_cost=20.0
    )
    judge = world_judge(max_tokens=50)
    stopped = run(ratings, tmp_path / "out", judges=[judge], judging=judging, least=2)
    assert "could bring the cost above" in stopped.stopped
    assert not (tmp_path / "out" / "metrics.json").exists()
    assert "Not finished" in stopped.page
    judging = JudgeSettings(judge_model="w", judge_max_tokens=50)
    whole = run(ratings, tmp_path / "out", judges=[judge], judging=judging, least=2)
    assert whole.stopped is None
    run(ratings, tmp_path / "other", judges=[judge], judging=judging, least=2)
    same = [
        (tmp_path / name / "experts.json").read_bytes() for name in ("out", "other")
    ]
    assert same[0] == same[1]


def test_all_criteria_have_one_budget(tmp_path):
    first = world(4)[:20]
    second = Criterion("second", (1, 5), title="Second")
    rubric = RatingRubric(name="two", criteria=(CRITERION, second))
    ratings = first + [replace(rating, criterion="second") for rating in first]
    conditions, price = conditions_of(["zero"], []), Price(1000.0, 1000.0)
    most = float(
        asking_size(Plan(first, RUBRIC, conditions), 1, price, 50)[2].split()[3][:-1]
    )
    settings = {
        "judge_model": "w",
        "judge_max_tokens": 50,
        "judge_price_in": 1000.0,
        "judge_price_out": 1000.0,
    }
    judge = world_judge(max_tokens=50)
    judging = JudgeSettings(
        **settings, max_cost=1.5 * most
    )  # enough for one criterion, not for two
    stopped = judge_experts(
        Plan(ratings, rubric, conditions), [judge], tmp_path, judging, ExpertSettings()
    )
    assert "could bring the cost above" in (stopped.stopped or "")


def test_replies_that_cannot_be_read_are_no_scores(tmp_path):
    ratings = world(5)

    def bad(prompt):
        return "3" if len(prompt) % 3 == 0 else reply(prompt)

    run(
        ratings,
        tmp_path / "out",
        judges=[world_judge(0, bad)],
        conditions=conditions_of(["same"], [5]),
    )
    by_name, _ = rows(tmp_path / "out")
    row = by_name["same 5"]
    assert row["n"] + round(270 * row["unparseable"]) == 270
    lines = (tmp_path / "out" / "predictions.jsonl").read_text("utf-8").splitlines()
    assert (
        sum(json.loads(line)["reason"] == UNPARSEABLE for line in lines)
        == 270 - row["n"]
    )
    again = JudgeSettings(judge_model="w", retry_unjudged=True)
    same = conditions_of(["same"], [5])
    run(ratings, tmp_path / "out", conditions=same, judging=again)
    assert rows(tmp_path / "out")[0]["same 5"]["n"] == 270


def test_a_size_and_the_most_that_it_costs():
    # The paper's has 3,109 ratings by eight criteria; nobody rated what another one did.
    ratings = [
        Rated(f"r{k % 8}", f"i{k}", f"p{k}", "d", criterion, 1, f"idea {k}")
        for k in range(391)
        for criterion in "ab"
    ]
    rubric = RatingRubric(
        name="two", criteria=tuple(Criterion(c, (1, 5)) for c in "ab")
    )
    plan = Plan(ratings, rubric, CONDITIONS)
    asked, size, cost = asking_size(plan, 3, Price(1.0, 2.0), 100)
    assert "782 ratings x 9 conditions x 3 seeds = 21,114 requests" in asked
    assert "of which 0 equal another one" in asked
    # A million bytes cost 1, and so does half a million tokens of a reply.
    most = float(size.split()[1]) + (64 + 2 * 100) * 21_114 / 1e6
    assert float(cost.split()[3].strip(";")) == pytest.approx(most, abs=0.06)


def test_a_sample_is_as_alike_as_can_be():
    part = Plan(world(0), RUBRIC, (), 27).targets
    assert [sum(r.rater == f"r{k}" for r in part) for k in range(9)] == [3] * 9


def test_a_seed_is_part_of_what_is_asked(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    judges = seeded_judges(
        JudgeSettings(judge_model="j", judge_endpoint="{extra_body: {top_p: 0.9}}"),
        3,
        0.7,
    )
    assert [judge.parameters["extra_body"] for judge in judges] == [
        {"top_p": 0.9, "seed": k} for k in range(3)
    ]
    assert judges[0].parameters["temperature"] == 0.7
    with refused("experts: several votes of one that decodes greedily"):
        seeded_judges(JudgeSettings(judge_backend="transformers"), 3, 0.7)


class Letters:
    """An encoder of three words: the features that the judge's reasons name."""

    name, revision = "letters", "1"

    def encode(self, words):
        return np.array(
            [[f"feature {k}" in word for k in range(3)] for word in words], np.float32
        )


def test_reasons_are_alike_where_experts_agree(tmp_path):
    ratings, same = world(6), Condition("same", 10)
    plan = Plan(ratings, RUBRIC, [Condition("zero"), same])
    votes = ask_for_all(plan, [world_judge()], tmp_path / "l", JudgeSettings())
    predictions = {
        name: predict(given_votes, 80) for name, given_votes in votes.by_ask.items()
    }
    alike = reasons_of(
        plan, predictions, same, WordVectors(Letters()), ExpertSettings()
    )
    # Experts of one feature have the same reasons and, but for their strictness, the same scores.
    assert len(alike.points) == 36
    assert {round(point.cosine, 6) for point in alike.points} == {0, 1}
    one_feature = [point.alpha for point in alike.points if point.cosine > 0.5]
    assert fmean(one_feature) > fmean(
        point.alpha for point in alike.points if point.cosine < 0.5
    )
    assert alike.r > 0.3
    assert alike.p < 0.05
    zero = reasons_of(
        plan, predictions, Condition("zero"), WordVectors(Letters()), ExpertSettings()
    )
    assert (zero.r, zero.reason) == (None, "all pairs' reasons are as alike")
    assert b"r = 0." in reasons_figure([alike, zero])


def test_the_command_of_the_trial_says_what_it_would_ask(tmp_path):
    prices = ("--judge-price-in", "1", "--judge-price-out", "1")
    words = ("agreement", "--experts", "--trial", "--dry-run", "--output", "o")
    words += ("--shots", "1", "2", *prices)
    done = sozo(tmp_path, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "ratings x 5 conditions x 3 seeds = " in done.stdout
    assert "cost: at most" in done.stdout


@pytest.mark.parametrize(
    ("words", "row"),
    [
        (("r.csv", "--experts"), "experts: rated item that is no idea"),
        (("--experts",), "experts: no ratings"),
        (("r.csv", "--experts", "--trial"), "experts: trial beside files"),
        (("r.csv",), "experts: ideas without them"),
    ],
)
def test_files_that_do_not_go_together_are_refused(words, row, tmp_path):
    (tmp_path / "r.csv").write_text("item,criterion,rater,score\ni1,specificity,A,3\n")
    (tmp_path / "p.jsonl").write_text(
        '{"id": "p", "title": "t", "abstract": "a"}\n', "utf-8"
    )
    fields = dict.fromkeys(
        ("title", "description", "implementation", "differentiation"), "x"
    )
    (tmp_path / "i.jsonl").write_text(
        json.dumps({"id": "i", "patent": "p", **fields}) + "\n", "utf-8"
    )
    files = ("--ideas", "i.jsonl", "--patents", "p.jsonl", "--output", "out")
    done = sozo(tmp_path, "agreement", *files, *words, OPENAI_API_KEY="none")
    assert done.returncode == 2
    assert says(row, done.stderr)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("judge_temperature", value) for value in (float("nan"), float("inf"), -1.0)),
        ("judge_seeds", 0),
    ],
)
def test_a_number_that_cannot_be_is_refused_as_soon_as_it_is_said(name, value):
    with refused(f"experts: {name} {value}"):
        ExpertSettings(**{name: value})
