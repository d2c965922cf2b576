"""What trainings do to the rest of a model: the claims of a recipe's page are what the rows beside it hold."""

import json
from collections import defaultdict

from grpo_runs import ROOT
from sozo.scoring.statistics.proportions import holm
from sozo.scoring.statistics.seeds import over_seeds


def values(recipe):
    """Measure -> arm -> seed -> number."""
    found = defaultdict(lambda: defaultdict(dict))
    path = ROOT / "recipes" / recipe / "after-rows.jsonl"
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        for task in ("sentences", "general", "dat"):
            part = row.get(task, {})
            told = {
                name: value[0]
                for name, value in part.items()
                if isinstance(value, list)
            }
            if part:
                told["usable", task] = part["usable answers"] / part["answers"]
            for name, value in told.items():
                found[name][row["arm"]][row["seed"]] = value
    return found


def page(recipe):
    return (ROOT / "recipes" / recipe / "README.md").read_text("utf-8")


def test_smollm2_s_two_claims_held():
    found = values("smollm2-135m")

    def difference(name, arm, base):
        ours, theirs = found[name][arm], found[name][base]
        return {seed: ours[seed] - theirs[seed] for seed in ours}

    unlearns = difference("general/bits_en", "wide", "base")
    keeps = difference("sentences/usable", "wide and sentences", "wide")
    told, points = over_seeds(unlearns), over_seeds(keeps)
    decided = over_seeds({seed: gap - 0.05 for seed, gap in unlearns.items()})
    assert max(holm([decided.p / 2, points.p / 2])) < 0.001
    assert decided.value > 0 < points.value
    text = page("smollm2-135m")
    assert f"{told.value:+.3f} [{told.low:+.3f}, {told.high:+.3f}]" in text
    numbers = [100 * value for value in (points.value, points.low, points.high)]
    assert "{:+.1f} points [{:.1f}, {:.1f}]".format(*numbers) in text
