"""What pages say of studies is computed again from the studies' rows: means, intervals, p and verdicts."""

import json
import re

import numpy as np
import pytest

from grpo_runs import ROOT
from sozo.scoring.measure import DIFFERENCE
from sozo.scoring.numbers import P_VALUE, number
from sozo.scoring.statistics.seeds import over_seeds
from sozo.studies.study.claims import MEASURES, judge, seeds_cell
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
    measure = MEASURES[name]
    if not known:
        return ""
    mean = over_seeds(known)
    return plain(seeds_cell(mean, measure.measure, measure.kind).line)


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
        claim, found = verdict.claim, verdict.interval
        if claim.measure not in columns:
            assert claim.name not in lines
            continue
        measure = MEASURES[claim.measure]
        kind = DIFFERENCE if claim.against else measure.kind
        needs, *cells = lines[claim.name]
        (bound,) = (
            limit
            for limit in (claim.at_least, claim.above, claim.within)
            if limit is not None
        )
        shown = float(re.findall(r"-?\d+(?:\.\d+)?", needs)[-1])
        assert shown == (100 * bound if measure.measure.share else bound), needs
        assert cells == [
            plain(seeds_cell(found, measure.measure, kind).line),
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
            plain(MEASURES[measure].show(values[measure][arm.name][seed]))
            for measure in BY_SEED
            for arm in trained
        ]
        assert lines[str(seed)] == expected, seed


def test_the_digits_of_the_stopped_study_are_those_of_its_rows():
    folder = ROOT / "recipes" / "qwen2.5-coder-1.5b"
    rows = {row["row"]: row for row in read_rows(folder / "rows.jsonl")}
    page = (folder / "README.md").read_text("utf-8")
    for row in rows.values():
        digits = f"| {row['usable_share']:.1%} | {row['score']:.4f} | "
        if row["second_parts"]:
            words = np.interp(174, *zip(*row["rarefaction"], strict=True))
            pairing = row["second_parts"]["pairing"]
            digits += f"{words:.0f} | {pairing['deviations']:+.2f} [{pairing['low']:+.2f}, {pairing['high']:+.2f}] |"
        assert digits in page, row["row"]
        if answers := row.get("cue_dat"):
            value = answers["cue_dat"]
            assert (
                f"{value['mean']:+.4f} [{value['low']:+.4f}, {value['high']:+.4f}]"
                in page
            ), row["row"]
    ours, theirs = (
        [
            rows[arm + seed]["second_parts"]["pairing"]["deviations"]
            for seed in ("", "@2")
        ]
        for arm in ("wide-then-grpo", "placebo")
    )
    first, second = (a - b for a, b in zip(ours, theirs, strict=True))
    mean, half = (first + second) / 2, 12.7062 * abs(first - second) / 2
    assert f"by {first:.2f} and by {second:.2f}: on average {mean:+.2f}" in page
    assert f"from {mean - half:+.2f} to {mean + half:+.2f}." in page


def gained(pairing, words):
    """The cells of docs/training.md: a difference over seeds, and the share of the start's words that is left."""
    measure = MEASURES[PAIRING]
    difference = over_seeds(dict(enumerate(pairing)))
    return [
        plain(seeds_cell(difference, measure.measure, DIFFERENCE).line),
        f"{np.mean(words):.0%}",
    ]


def test_the_recommendation_says_what_was_measured():
    lines = table_lines(
        section_of("docs/training.md", "Which training, and what is lost")
    )
    cells = {
        re.sub(r"\W.*", "", name.lstrip("[")): line for name, line in lines.items()
    }

    study = load_study(ROOT / "recipes" / "tiny" / "quickstart.yaml")
    rows = read_rows(ROOT / "recipes" / "tiny" / "quickstart-rows.jsonl")
    size = min(row["rarefaction"][-1][0] for row in rows)
    tiny = {row["source"]: measured(row, size) for row in rows}
    at = [
        [tiny[study.at(arm, k)] for k in study.seeds]
        for arm in ("wide", "GRPO", "base")
    ]
    assert cells["tiny"] == [
        "5",
        *gained(
            [wide[PAIRING] - grpo[PAIRING] for wide, grpo, _ in zip(*at, strict=True)],
            [wide[WORDS] / base[WORDS] for wide, _, base in zip(*at, strict=True)],
        ),
    ]

    page = (ROOT / "recipes" / "gemma-3-270m" / "README.md").read_text("utf-8")
    by_seed = [
        [float(cell.replace(",", "")) for cell in line.split("|")[2:11]]
        for line in re.findall(r"^\| 1[1-5] \|.*", page, re.MULTILINE)
    ]
    assert len(by_seed) == 5
    # The page's claim is of unrounded numbers, of which these are left as they were printed.
    claim, words = cells["Gemma"][1:]
    assert f"above 0 | {claim} |" in page
    ours, left = gained(
        [wide - grpo for grpo, wide, *_ in by_seed],
        [line[6] / line[4] for line in by_seed],
    )
    assert words == left
    shown, again = (re.findall(r"[\d.]+", text) for text in (claim, ours))
    assert [float(x) for x in shown] == pytest.approx([*map(float, again)], abs=0.011)

    page = (ROOT / "recipes" / "smollm2-135m" / "README.md").read_text("utf-8")
    rows = table_lines(page.partition("\n## Measured\n")[2].partition("\n## ")[0])
    (claim,) = (
        line for name, line in rows.items() if name.startswith("`wide` combines")
    )
    words = [int(rows[arm][2]) for arm in ("wide", "base")]
    assert cells["SmolLM2"] == ["3", claim[0], f"{words[0] / words[1]:.0%}"]

    rows = read_rows(ROOT / "recipes" / "qwen2.5-coder-1.5b" / "rows.jsonl")
    wide, base = (
        next(row for row in rows if row["row"] == name) for name in ("wide", "base")
    )
    pairing = wide["second_parts"]["pairing"]
    words = [
        np.interp(174, *zip(*row["rarefaction"], strict=True)) for row in (wide, base)
    ]
    assert cells["Qwen2"] == [
        "1",
        f"{pairing['deviations']:+.2f} [{pairing['low']:+.2f}, {pairing['high']:+.2f}], over the start",
        f"{words[0] / words[1]:.0%}",
    ]
