"""Table 11 of fixed folders; agreement, correlations and experts of fixed ratings."""

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from freeze import files_of, read
from frozen_runs import NOUNS

from finished_runs import JUDGE, QUESTION_OF_TASK, given_dat, given_jcq, given_sat
from sozo.data.published import load
from sozo.studies.agreement.run import agree_raters
from sozo.studies.correlate.run import correlate_models, correlate_raters
from sozo.studies.experts.run import judge_experts
from sozo.studies.study.page import StudyResult, to_markdown
from sozo.studies.study.table11 import table11
from sozo.tasks.jcq.questions import CRITERIA
from written_tables import write


def table_11(folder: Path) -> Mapping[str, Any]:
    """A base, SFT, two DPO stages and GRPO: ever fewer words, ever higher scores."""
    random, folders = Random("table 11"), {}
    for k, name in enumerate(("base", "SFT", "DPO 1", "DPO 2", "GRPO")):
        lists = [
            (
                random.sample(NOUNS[: 60 - 8 * k], 10),
                0.8 + 0.02 * k + random.random() / 50,
            )
            for _ in range(40 + 10 * k)
        ]
        folders[name] = write(folder / name, lists, unusable=30 - 6 * k)
    result = StudyResult("Table 11", table11(folders, "Swallow-8B"))
    return {"table 11": [to_markdown(result).splitlines(), result.to_json()]}


def raters(folder: Path) -> Path:
    """Four raters of 130 ideas in two fields, by PBIG's criteria; one is strict, one knows half."""
    random, lines = Random("raters"), []
    for k in range(130):
        truth = random.randrange(1, 5)
        for rater in "ABCD":
            score = min(
                4, max(1, truth + random.choice((-1, 0, 0, 1)) - (rater == "B"))
            )
            row = {
                "domain": ("NLP", "CS")[k % 2],
                "item": f"i{k}",
                "criterion": "specificity",
            }
            row |= {"rater": rater, "group": "technical", "score": score}
            if rater != "D" or k % 2:
                lines.append(row)
            if score > 2:
                other = row | {
                    "criterion": "technical_validity",
                    "score": random.randrange(1, 4),
                }
                lines.append(other)
    path = folder / "ratings.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def agreement(folder: Path) -> Mapping[str, Any]:
    """Of raters at three levels, and of two judges, one asked three times."""
    values = {}
    for level in ("nominal", "ordinal", "interval"):
        out = folder / level
        agree_raters([str(raters(folder))], out, rubric="pbig", level=level)
        values |= {f"{level}: {k}": v for k, v in files_of(out, but=TIMED).items()}
    random, places = Random("judges"), []
    grades = {
        q.id: [random.randrange(1, 6) for _ in range(4)] for q in QUESTION_OF_TASK
    }
    for name in ("a0", "a1", "a2", "b"):
        judge = JUDGE | {"model": name[0]}
        scores = {
            key: [
                tuple(min(5, max(1, g + random.choice((-1, 0, 0, 0, 1)))) for g in own)
            ]
            for key, own in grades.items()
        }
        places.append(str(given_jcq(folder / name, "m", scores, judge=judge)))
    named = [f"{Path(place).name}={place}" for place in places]
    agree_raters(named, folder / "judges")
    kept = files_of(folder / "judges", but=TIMED)
    return values | {f"judges: {k}": v for k, v in kept.items()}


TIMED = ("config.json", "metrics.json")


def correlations(folder: Path) -> Mapping[str, Any]:
    """Tables 8 to 10 of the paper's five models, with grades and ratings of our own."""
    random, rated = Random("correlate"), []
    for row, of_sat in zip(load("dat"), load("sat"), strict=True):
        model = row["model"]
        given_dat(folder / "runs" / model / "dat", model, row["score"])
        stories = {
            "桃": of_sat["score"] + 0.01,
            "鶴": of_sat["score"] - 0.01,
            "犬": None,
        }
        given_sat(folder / "runs" / model / "sat", model, stories)
        grades = {
            q.id: tuple(random.randrange(1, 6) for _ in range(4))
            for q in QUESTION_OF_TASK
        }
        given_jcq(
            folder / "runs" / model / "jcq", model, {k: [g] for k, g in grades.items()}
        )
        for key, own in grades.items():
            for criterion, grade in zip(CRITERIA, own, strict=True):
                for rater in "AB":
                    score = min(5, max(1, grade + random.choice((-1, 0, 1))))
                    line = {"model": model, "item": key, "criterion": criterion}
                    rated.append(line | {"rater": rater, "score": score})
    path = folder / "people.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in rated), "utf-8")
    correlate_models([str(folder / "runs")], folder / "models")
    correlate_raters([str(folder / "runs"), str(path)], folder / "raters")
    kept = [folder / "models", folder / "raters"]
    return {
        f"{out.name}: {k}": v
        for out in kept
        for k, v in files_of(out, but=TIMED).items()
    }


def experts(folder: Path) -> Mapping[str, Any]:
    """Nine experts with tastes of their own, and a judge who finds them out from examples."""
    lines = [json.loads(line) for line in read("experts")["predictions.jsonl"]]
    for line in lines:  # as sure as can be
        line["votes"] = [vote | {"confidence": 100} for vote in line["votes"]]
    path = folder / "predictions.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    judge_experts([path], folder / "out")
    return files_of(folder, but=TIMED)


PARTS = {
    "table11": table_11,
    "agreement": agreement,
    "correlations": correlations,
    "experts": experts,
}
