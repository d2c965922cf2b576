"""What trainings do to the rest of a model: the tables of the recipes' pages say what the rows beside them hold."""

import json
from collections import defaultdict

from grpo_runs import ROOT
from sozo.scoring.statistics.proportions import holm
from sozo.scoring.statistics.seeds import over_seeds

INSTRUCTIONS = 30  # of a language


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


def cell(by_seed, form, brackets=True):
    if not by_seed:
        return ""
    mean = over_seeds(by_seed)
    shown = form(mean.value)
    if not brackets or mean.low is None or mean.low == mean.high:
        return shown
    low, high = (form(bound).rstrip("%") for bound in (mean.low, mean.high))
    return f"{shown} [{low}, {high}]"


def share(value):
    return f"{value:.1%}"


def test_the_table_is_of_the_rows():
    found = values("smollm2-135m")
    text = page("smollm2-135m")
    for arm, by_seed in found["general/bits_en"].items():
        cells = [
            arm,
            f"{len(by_seed)}",
            cell(found["sentences/usable"][arm], share),
            cell(by_seed, "{:.3f}".format),
            cell(found["general/bits_ja"][arm], "{:.2f}".format),
            cell(
                {
                    seed: INSTRUCTIONS * value
                    for seed, value in found["general/instructions_en"][arm].items()
                },
                "{:.1f}".format,
                brackets=False,
            ),
            cell(found["general/length_en"][arm], "{:.0f}".format, brackets=False),
            cell(found["usable", "dat"][arm], share, brackets=False),
            cell(found["dat"][arm], "{:.4f}".format, brackets=False),
        ]
        assert f"| {' | '.join(cells)} |" in text


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


def test_gemma_s_table_is_of_its_rows():
    path = ROOT / "recipes" / "gemma-3-270m" / "after-rows.jsonl"
    text = page("gemma-3-270m")
    for row in map(json.loads, path.read_text("utf-8").splitlines()):
        general = row["general"]
        bits = [
            "{:.2f} [{:.2f}, {:.2f}]".format(*general[f"general/bits_{language}"])
            for language in ("ja", "en")
        ]
        cells = [
            row["arm"],
            f"{row['sentences']['usable answers']}",
            *bits,
            f"{2 * INSTRUCTIONS * general['general'][0]:.0f}",
            f"{general['general/length_ja'][0]:.0f}",
        ]
        assert f"| {' | '.join(cells)} |" in text
