"""People's lists as results: what is added to their spreadsheet, tables, and a paragraph on the method."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
import yaml

import sozo
from sozo.data.record import provenance
from sozo.data.sheet import Sheet, read_sheet
from sozo.scoring.measure import Measure
from sozo.scoring.statistics import mean_interval, pearson
from sozo.scoring.statistics.reliability import cronbach_alpha
from sozo.scoring.table import Cell, Content, Table, tabulate
from sozo.scoring.nouns.rules import MAX_WORD_CHARS
from sozo.tasks.dat.people import PersonScore, WrittenList, percentile, read_norms, read_written, score_written
from sozo.tasks.dat.scorer import DatScorer
from sozo.tasks.task import PeopleScored

_SCORE, _ALPHA, _R = Measure("dat", scale=(0, 2)), Measure("alpha", 2), Measure("r", 2, scale=(-1, 1))
_SHOWN = 500  # lists on the page
_NONE = "none from one list"


def score_people(scorer: DatScorer, path: Path, norms: Path | None) -> PeopleScored:
    """The lists of a spreadsheet, scored; percentiles are among the scores of the spreadsheet `norms`."""
    sheet = read_sheet(path)
    lists = read_written(sheet, spaces=not scorer.rules.olson)
    versions = provenance()["packages"]
    parts = {"sozo": f"sozo {sozo.__version__}", "checker": scorer.checker.name, "encoder": scorer.vectors.encoder.name}
    parts["checker"] += f" {versions[parts['checker']]}" if parts["checker"] in versions else ""
    parts["encoder"] += f" (revision {scorer.vectors.encoder.revision})"
    scale = "; ".join((parts["encoder"], parts["checker"], "first 7 valid of 10"))
    among = None if norms is None else read_norms(norms, scale)
    scores = score_written(lists, scorer)
    cells = [_cells(result, scale, among) for result in scores]
    shown = [
        {"Participant": Cell(written.participant), "List": Cell(written.trial)} | {k: Cell(v) for k, v in own.items()}
        for written, own in zip(lists[:_SHOWN], cells[:_SHOWN], strict=True)
    ]
    notes = [f"The first {_SHOWN:,} of {len(lists):,} lists; the CSV has all."] if len(lists) > _SHOWN else []
    tables = [*people_tables(lists, scores), tabulate("Every list", shown, notes)]
    said = f" Percentiles are among the {len(among):,} scores of {norms.name}." if norms and among is not None else ""
    return PeopleScored(sheet, _added(sheet, lists, cells), tables, _methods(scorer, parts, lists, scores, said))


def _cells(result: PersonScore, scale: str, norms: np.ndarray | None) -> dict[str, str]:
    """What is added to the rows of a list, by the ends of the headings."""
    scores = {"score": result.score, "strict_score": result.strict_score}
    cells = {name: "" if score is None else f"{score:.4f}" for name, score in scores.items()}
    if norms is not None:
        cells["percentile"] = "" if result.score is None else f"{percentile(result.score, norms):.1f}"
    cells |= {"reason": result.reason or "", "strict_reason": result.strict_reason or ""}
    cells["words"] = "、".join(result.counted)
    cells["refused"] = "、".join(f"{word[:MAX_WORD_CHARS]} ({why})" for word, why in result.refused)
    return cells | {"scale": scale}


def _added(sheet: Sheet, lists: Sequence[WrittenList], cells: Sequence[dict[str, str]]) -> dict[str, list[str]]:
    """Heading -> a cell for each row of the sheet; headings begin with sozo, or sozo2 where one with sozo is taken."""
    taken = {heading.casefold() for heading in sheet.headings}
    prefixes = ("sozo", *(f"sozo{k}" for k in range(2, len(taken) + 3)))
    prefix = next(each for each in prefixes if not any(f"{each}_{name}" in taken for name in cells[0]))
    of_row = {row: own for written, own in zip(lists, cells, strict=True) for row in written.rows}
    return {f"{prefix}_{name}": [of_row[row][name] for row in range(len(sheet.rows))] for name in cells[0]}


def people_tables(lists: Sequence[WrittenList], scores: Sequence[PersonScore]) -> list[Table]:
    """Scores, lists without one, reliability."""
    rules = {
        "First seven valid of ten": [(result.score, result.reason) for result in scores],
        "Strict: ten valid": [(result.strict_score, result.strict_reason) for result in scores],
    }
    rows, reasons = list[Mapping[str, Content]](), list[Mapping[str, Content]]()
    for rule, worth in rules.items():
        own = defaultdict(list)
        for written, (score, _) in zip(lists, worth, strict=True):
            if score is not None:
                own[written.participant].append(score)
        means = [float(np.mean(each)) for each in own.values()]
        mean = mean_interval(means)
        persons = len({written.participant for written in lists})
        rows.append({
            "Rule": rule,
            "Lists with a score": Cell.share(sum(map(len, own.values())), len(lists)),
            "Mean of participants": Cell(mean.mean, _SCORE, mean.low, mean.high, mean.n, persons, why=mean.reason or ""),
            "Sd of participants": Cell(float(np.std(means, ddof=1)) if len(means) > 1 else None, _SCORE),
            "Least": Cell(min(means, default=None), _SCORE),
            "Most": Cell(max(means, default=None), _SCORE),
        })
        for reason, count in Counter(reason for _, reason in worth if reason).most_common():
            reasons.append({"Why there is no score": reason, "Rule": Cell(rule), "Lists": count})
    reliability = [_reliability(rule, lists, [score for score, _ in worth]) for rule, worth in rules.items()]
    named = ("Scores", rows), ("Lists without a score", reasons), ("Reliability", reliability)
    return [tabulate(name, own) for name, own in named]


def _reliability(
    rule: str, lists: Sequence[WrittenList], scores: Sequence[float | None]
) -> Mapping[str, Content]:
    """Cronbach's alpha over all lists of a person, and the correlation of the first two in the file's order."""
    trials, persons = (
        {name: k for k, name in enumerate(dict.fromkeys(names))}
        for names in ([written.trial for written in lists], [written.participant for written in lists])
    )
    alpha = retest = Cell(None, _ALPHA, why=_NONE)
    if len(lists) > len(persons):
        matrix = np.full((len(persons), len(trials)), np.nan)
        for written, score in zip(lists, scores, strict=True):
            matrix[persons[written.participant], trials[written.trial]] = np.nan if score is None else score
        complete, pairs = (part[~np.isnan(part).any(axis=1)] for part in (matrix, matrix[:, :2]))
        one, r = cronbach_alpha(complete), pearson(pairs[:, 0], pairs[:, 1], unit="persons")
        alpha = Cell(one.alpha, _ALPHA, one.low, one.high, one.persons, len(persons), why=one.reason or "")
        retest = Cell(r.r, _R, r.low, r.high, r.n, len(persons), why=r.reason or "")
    return {"Rule": rule, "Lists a person": len(trials), "Cronbach's alpha": alpha, "Retest, first two lists": retest}


def _methods(
    scorer: DatScorer,
    parts: Mapping[str, str],
    lists: Sequence[WrittenList],
    scores: Sequence[PersonScore],
    more: str,
) -> list[str]:
    """A paragraph for the methods section, in English and in Japanese."""
    reasons = Counter(result.reason for result in scores if result.reason)
    values = {
        **parts,
        "lists": len(lists),
        "participants": len({written.participant for written in lists}),
        "script": "Latin letters" if scorer.rules.olson else "Japanese script",
        "scored": len(lists) - reasons.total(),
        "unscored": reasons.total(),
        "strict": sum(result.strict_score is not None for result in scores),
        "reasons": ", ".join(f"{reason}: {count:,}" for reason, count in reasons.most_common()) or "–",
        "more": more,
    }
    texts = yaml.safe_load(files("sozo.tasks.dat").joinpath("people.yaml").read_text("utf-8"))
    return [text.format(**values) for text in texts.values()]
