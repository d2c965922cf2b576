"""SIPeN's controls: one answer under every reading, by a rule, and none that a shortcut finds."""

import re
import runpy
from collections import defaultdict
from hashlib import sha256
from pathlib import Path

import pytest

from finding_rows import rows_of, states
from sipen_runs import run_of, truthful
from sozo.eval.findings import HIGHER, LOWER, NO_INTERVAL, NOT_APART
from sozo.suite.sipen.items import (
    CONTROL,
    MAYBE,
    NO,
    YES,
    trial_items,
)

SHORTCUTS = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks/shortcuts.py"))
shortcuts = SHORTCUTS["shortcuts"]
CONTROLS = [item for item in trial_items() if item.direction in CONTROL]
GOLD = {item.id: CONTROL[item.direction] for item in CONTROLS}
CLAUSE = re.compile(
    r"(?P<number>二十ある|六つある)?(?P<noun>.+?)は(?P<word>すべて|ほとんどが|いくつかが|少なくとも一つが|一つも)"
    r"(?P<verb>.+?[てで])(?P<end>いて|おらず|いる|いない|いた|いなかった)"
)
HYPOTHESES = {  # form -> what it says of k of n
    r"(?P<whole>.*)どの(?P<noun>.+)も(?P<verb>.+?[てで])い[るた]": lambda k, n: k == n,
    r"(?P<verb>.+?[てで])いない(?P<noun>.+)は一つもな(?:い|かった)": lambda k, n: (
        k == n
    ),
    r"(?P<verb>.+?[てで])いる(?P<noun>.+)は一つもな(?:い|かった)": lambda k, n: k == 0,
    r"(?P<verb>.+?[てで])いる(?P<noun>.+)は半分以下だ(?:った)?": lambda k, n: (
        2 * k <= n
    ),
    r"(?P<noun>.+)の半分より多くが(?P<verb>.+?[てで])い[るた]": lambda k, n: 2 * k > n,
    r"(?P<verb>.+?[てで])いる(?P<noun>.+)は十以上あ(?:る|った)": lambda k, n: k >= 10,
    r"(?P<verb>.+?[てで])いる(?P<noun>.+)があ(?:る|った)": lambda k, n: k > 0,
    r"(?P<verb>.+?[てで])いない(?P<noun>.+)があ(?:る|った)": lambda k, n: k < n,
}
WORDS = {  # word -> what it says of k of n: literally, with "not the next stronger one", with "not the stronger ones"
    "すべて": [lambda k, n: k == n] * 3,
    "ほとんどが": [
        lambda k, n: 2 * k > n,
        lambda k, n: n / 2 < k < n,
        lambda k, n: 0.7 * n < k < n,
    ],
    "いくつかが": [
        lambda k, n: k > 0,
        lambda k, n: 1 < k < n,
        lambda k, n: k > 1 and 2 * k <= n,
    ],
    "少なくとも一つが": [lambda k, n: k > 0]
    * 3,  # whoever says so leaves open how many more
    "一つも": [lambda k, n: k == 0] * 3,
}
TOTAL = {"二十ある": (20,), "六つある": (6,), None: range(4, 41)}


def answers_by_rule(item):
    """The answer under each of the three readings, over all numbers of things that the premise leaves open."""
    (form,) = [
        (match, says)
        for form, says in HYPOTHESES.items()
        if (match := re.fullmatch(form, item.hypothesis[:-1]))
    ]
    said, says = form
    asked = said.groupdict().get("whole", "") + said["noun"]
    clauses = [CLAUSE.fullmatch(clause) for clause in item.premise[:-1].split("、")]
    assert len(clauses) == 3
    assert len({clause["verb"] for clause in clauses} | {said["verb"]}) == 1
    (clause,) = [clause for clause in clauses if clause["noun"] == asked]
    negative = clause["end"] in ("おらず", "いない", "いなかった")
    assert negative or clause["word"] != "一つも"
    answers = []
    for holds in WORDS[clause["word"]]:
        truths = {
            says(k, n)
            for n in TOTAL[clause["number"]]
            for k in range(n + 1)
            if (
                holds(k, n)
                if clause["word"] == "一つも" or not negative
                else holds(n - k, n)
            )
        }
        answers.append({(True,): YES, (False,): NO}.get(tuple(truths), MAYBE))
    return answers


def test_controls_have_one_answer_under_every_reading():
    for item in CONTROLS:
        assert answers_by_rule(item) == [CONTROL[item.direction]] * 3, item.id


def test_every_hypothesis_and_every_premise_has_each_answer_once():
    by_hypothesis, by_premise = defaultdict(list), defaultdict(list)
    for item in CONTROLS:
        by_hypothesis[item.story, item.hypothesis].append(GOLD[item.id])
        by_premise[item.premise_id, item.premise].append(GOLD[item.id])
    for answers in (*by_hypothesis.values(), *by_premise.values()):
        assert sorted(answers) == sorted(CONTROL.values())
    assert (len(by_hypothesis), len(by_premise)) == (48, 48)
    assert len({hypothesis for _, hypothesis in by_hypothesis}) == 48


def test_no_shortcut_finds_the_answers():
    found = shortcuts(trial_items())
    assert set(found) == {"controls", "scale items"}
    for of_set in found.values():
        assert set(of_set) == {"hypothesis", "premise", "form"}
    for name, estimate in found["controls"].items():
        assert (estimate.high or estimate.value) < 0.6, (name, estimate)
    # A scale has ends: of its strongest word all neighbours are weaker, of its weakest all are stronger.
    assert max(estimate.value for estimate in found["scale items"].values()) < 2 / 3


def test_a_control_that_is_lost_is_lower_and_one_that_is_kept_is_not_told_apart(
    tmp_path,
):
    def mostly(right):
        return lambda item: (
            truthful(item) if hash_of(item) % 100 < right else "どちらともいえない"
        )

    for name, right in (("base", 100), ("kept", 100), ("lost", 30)):
        run_of(tmp_path / name, mostly(right), source=name, sipen_prompt="sipen-ja-v2")
    lost = rows_of(tmp_path, model="lost")
    control, errors = lost.values()
    assert (control.state, errors.state) == (LOWER, HIGHER)
    assert control.estimate.value == pytest.approx(control.value - control.base_value)
    assert set(states(tmp_path, model="kept").values()) <= {NOT_APART, NO_INTERVAL}


def hash_of(item):
    return int(sha256(item.premise_id.encode()).hexdigest(), 16)
