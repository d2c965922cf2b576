"""What pages say of studies is computed again from the studies' rows: means, intervals, p and verdicts."""

import json
import re

import numpy as np
import pytest

from grpo_runs import ROOT
from sozo.scoring.numbers import P_VALUE, number
from sozo.scoring.statistics.seeds import over_seeds
from sozo.studies.study.claims import ClaimVerdict, Difference, judge
from sozo.studies.study.config import load_study

WORDS, PAIRING = "different words", "second encoder pairing"
# The columns of a section's tables: over the seeds, and of each seed.
COLUMNS = ("usable", "score", WORDS, PAIRING)
BY_SEED = ("usable", WORDS, PAIRING)
# A study's YAML below recipes/, beside it NAME-rows.jsonl: the `rows` of its metrics.json, one a line. The page, the
# section's heading, its columns, and what the section calls an arm, where that is not the arm's name.
STUDIES = [
    ("tiny/quickstart", "docs/beyond.md", "The quickstart at five seeds", COLUMNS, {}),
    # Of these two the scores are lost, and of the first also the base's rows.
    ("tiny/against-placebo", "docs/beyond.md", "Against a placebo", BY_SEED, {}),
    (
        "smollm2-135m/against-placebo",
        "recipes/smollm2-135m/README.md",
        "Against a placebo",
        BY_SEED,
        {"base": "`wide`, one seed"},
    ),
]


def read_rows(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def measured(row, size):
    """A row's value by measure; None where nobody measured it."""
    parts = row["second_parts"]
    return {
        "usable": row["usable_share"],
        "score": row["score"],
        WORDS: float(np.interp(size, *zip(*row["rarefaction"], strict=True))),
        PAIRING: parts and parts["pairing"]["value"],
    }


def plain(text):
    """A cell as pages write it: without a unit that the heading has, and with an ASCII minus."""
    for shown, written in (("−", "-"), (" sd", ""), (" points", ""), ("**", "")):
        text = text.replace(shown, written)
    return text.strip()


def section_of(page, heading):
    _, _, text = (ROOT / page).read_text("utf-8").partition(f"\n## {heading}\n")
    return text.partition("\n## ")[0]


def table_lines(section):
    """The cells of each line of its tables by the first one, which no two lines share."""
    cells = [
        list(map(plain, line.strip("|").split("|")))
        for line in section.splitlines()
        if line.startswith("|") and not line.startswith("|-")
    ]
    assert len({line[0] for line in cells}) == len(cells)
    return {line[0]: line[1:] for line in cells}


def over(values, name):
    """The cell of a measure's mean over seeds; empty where nobody measured it."""
    known = {seed: value for seed, value in values.items() if value is not None}
    line = Difference(arm="", measure=name)
    return in_section(ClaimVerdict(line, over_seeds(known))) if known else ""


def in_section(verdict):
    """The cell of a difference: its number and its interval."""
    return plain(f"{verdict.cell.text} {verdict.cell.interval}")


@pytest.mark.parametrize(("name", "page", "heading", "columns", "labels"), STUDIES)
def test_a_section_says_what_the_rows_of_its_study_say(
    name, page, heading, columns, labels
):
    study = load_study(ROOT / "recipes" / f"{name}.yaml")
    rows = read_rows(ROOT / "recipes" / f"{name}-rows.jsonl")
    size = min(row["rarefaction"][-1][0] for row in rows)
    by_row = {row["source"]: measured(row, size) for row in rows}
    arms = [arm for arm in study.rows if study.at(arm.name, arm.seeds[0]) in by_row]
    values = {
        measure: {
            arm.name: {
                seed: by_row[study.at(arm.name, seed)][measure] for seed in arm.seeds
            }
            for arm in arms
        }
        for measure in COLUMNS
    }
    section = section_of(page, heading)
    lines = table_lines(section)
    assert f"in {size:,} usable lists |" in section

    for verdict in judge(study.claims, values):
        claim = verdict.claim
        if claim.measure not in columns:
            assert claim.name not in lines
            continue
        needs, *cells = lines[claim.name]
        (bound,) = (
            limit
            for limit in (claim.at_least, claim.above, claim.within)
            if limit is not None
        )
        shown = float(re.findall(r"-?\d+(?:\.\d+)?", needs)[-1])
        assert shown == (100 * bound if claim.measure == "usable" else bound), needs
        assert cells == [
            in_section(verdict),
            number(verdict.p, P_VALUE),
            number(verdict.p_opposite, P_VALUE),
            verdict.verdict,
        ], verdict

    for arm in arms:
        expected = [over(values[measure][arm.name], measure) for measure in columns]
        assert lines[labels.get(arm.name, arm.name)] == expected, arm.name

    trained = [arm for arm in study.rows if arm.train]
    for seed in study.seeds:
        expected = [
            plain(
                Difference(arm="", measure=measure).written(
                    values[measure][arm.name][seed]
                )
            )
            for measure in BY_SEED
            for arm in trained
        ]
        assert lines[str(seed)] == expected, seed
