"""The page of a study, or of any tables of answers, read from folders; the same as Markdown and JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sozo.data.markdown import bullets
from sozo.data.published import METHODS
from sozo.data.record import read_json, refuse_foreign, write_json, write_whole
from sozo.data.study_folder import without_seed
from sozo.eval.curve import CURVE
from sozo.eval.evaluated import find_evaluated
from sozo.eval.findings import Finding, findings
from sozo.eval.report.answer import stated
from sozo.eval.report.charts import Spot, scatter_chart, steps_chart
from sozo.eval.report.labels import english
from sozo.eval.report.pictures import Figure
from sozo.eval.report.render import render
from sozo.eval.report.tables import paper_table, without_empty
from sozo.scoring.languages import read_nouns
from sozo.scoring.measure import FEWEST, Estimate
from sozo.scoring.numbers import P_VALUE
from sozo.scoring.second_encoder import SecondEncoder
from sozo.scoring.table import Cell, Content, Table, markdown, tabulate
from sozo.studies.study import control_tasks
from sozo.studies.study.beside_paper import beside_table, figures
from sozo.studies.study.claims import (
    ONE_SIDED,
    ClaimVerdict,
    Difference,
    Values,
    judge,
    when_noted,
)
from sozo.studies.study.config import Study
from sozo.studies.study.steps import StudyList
from sozo.studies.study.table11 import MEASURES, Table11, Table11Row, table11

_ONE = "each is one training, in brackets its 95% interval over n answers; another seed may say otherwise"
_DRAW = (
    "; to compare, draw colder temperatures where the arm has fewer different words than the curve, or too few differ; "
    "hotter ones where it has more, while most lists stay usable: if none has as many, heat alone does not give them. They "
    "are `sampling` in"
)
_HAD_NONE = "the model before had 0, so nothing could be lost"
_RATE = "first try a lower learning_rate, in its arm or in the YAML that `training` names, on another seed (seeds: [4] in the file)"
_NOTES = (
    "Found: the mean over n seeds with its 95% interval (Student's t); of two arms, of their difference at each seed.",
    "p: that the claim does not hold, one-sided, corrected by Holm for the number of claims.",
    f"A claim held where p is at most {ONE_SIDED}, and failed where that of the opposite is. What is exploratory is not tested.",
)
_PICTURE = "Farther apart is up, more different words is right. A dot is an arm, at its mean over the seeds."
# What trainings log, by the last part of its name.
_CURVES = "reward", "usable", "loss"
_SEEN = "What the paper saw, and whether this study shows it, whatever chance may do"


@dataclass(frozen=True)
class StudyResult:
    """All that a page shows. Of tables without a study there are only rows."""

    title: str
    table: Table11  # the rows; in a study an arm's at each of its seeds (`Study.at`)
    controls: control_tasks.Controls = field(default_factory=dict)
    study: Study | None = None

    @cached_property
    def arms(self) -> dict[str, dict[str, Table11Row]]:
        """Of each arm its rows by the sign of their seed (`@1`), which is empty for the first."""
        arms: dict[str, dict[str, Table11Row]] = {}
        for row in self.table.rows:
            arm, seed = without_seed(row.summary.source)
            arms.setdefault(arm, {})[seed] = row
        return arms

    def cell(self, measure: str, row: Table11Row) -> Cell:
        """What a row has, with an interval over its answers where one is known."""
        for control, cells in self.controls.items():
            if control.name == measure:
                return cells.get(row.summary.source, Cell())
        return MEASURES[measure].cell(row)

    @cached_property
    def values(self) -> dict[str, Values]:
        """Measure -> arm -> seed -> value."""
        return {
            name: {
                arm: {
                    seed: self.cell(name, row).estimate.value
                    for seed, row in rows.items()
                }
                for arm, rows in self.arms.items()
            }
            for name in self.headings
        }

    @cached_property
    def headings(self) -> dict[str, str]:
        """What tables call the measures."""
        named = {name: name.capitalize() for name in MEASURES}
        named["all different words"] = named["different words"]
        named["different words"] += f" in {self.table.equal_size:,} usable"
        return named | {one.name: control_tasks.heading(one) for one in self.controls}

    def over(self, measure: str, arm: str) -> Cell:
        """An arm's mean over its seeds with Student's interval; of one seed what its row has."""
        row, *others = self.arms[arm].values()
        if not others:
            return self.cell(measure, row)
        mean = Difference(arm=arm, measure=measure)
        found = ClaimVerdict(mean, mean.interval(self.values[measure]))
        return replace(found.cell, below=())  # that seeds are few, their n says

    @cached_property
    def claims(self) -> list[ClaimVerdict]:
        """What came of the study's claims, and of what is exploratory."""
        if self.study is None:
            return []
        others = (
            ClaimVerdict(line, line.interval(self.values[line.measure]))
            for line in self.study.exploratory
        )
        return [*judge(self.study.claims, self.values), *others]

    def to_json(self) -> dict[str, Any]:
        """For `metrics.json`."""
        values = asdict(self.table)
        for row, stored in zip(self.table.rows, values["rows"], strict=True):
            stored |= stored.pop("summary") | {
                "usable_share": row.summary.usable_share,
                "beside_paper": list(map(asdict, figures(row))),
            }
        values["patterns"] = patterns(self.table)
        if self.study:
            values["claims"] = list(map(asdict, self.claims))
            values["arms"] = {
                arm: {name: self.over(name, arm).exact for name in self.headings}
                for arm in self.arms
            }
        return values


def tables_result(
    title: str, folders: Mapping[str, Path], paper_model: str | None = None
) -> StudyResult:
    """Read the rows' tables of answers, which lie in folders. Gains are over the row `base` or the first one."""
    base = "base" if "base" in folders else next(iter(folders))
    bases = {name: base for name in folders if name != base}
    return StudyResult(title, table11(folders, paper_model, bases=bases))


def study_result(study: Study) -> StudyResult:
    """Read the rows of a finished study, and the runs of its control tasks."""
    found, second = StudyList(study), None
    folders = {name: row.answers for name, row in found.rows.items()}
    if study.second_encoder:
        language = study.sampling.get("language", "ja")
        nouns = read_nouns(study.nouns, language)
        second = SecondEncoder(study.second_encoder, nouns, language)
    # However few usable lists a base has at a high temperature, the others' words are counted in as many as without.
    beside = [
        study.at(arm.name, seed)
        for arm, seed in study.points
        if arm.again or arm.name == "before"
    ]
    table = table11(folders, study.paper_model, beside, study.bases(), second)
    controls = control_tasks.control_rows(found.controls, study.bases("before"))
    kind = "rehearsal" if study.output_dir.endswith("-rehearsal") else "study"
    title = f"The {kind} {study.file.stem}: {study.model}"
    return StudyResult(title, table, controls, study)


def patterns(table: Table11) -> dict[str, str]:
    """What the paper says of its table (section 5.2) -> whether this one shows it: yes or NO, with figures.

    Numbers are compared as they are: a difference within the noise of few answers says yes or NO too. The ratio falls
    with the number of usable answers by itself, so of a row with another number of answers nothing is said.
    """
    rows = {row.summary.source: row.summary for row in table.rows if row.summary.usable}
    if not (base := rows.get("base")):
        return {}
    ratios = {
        name: row.all_different_words / row.usable
        for name, row in rows.items()
        if row.came == base.came
    }
    before, seen = ratios["base"], {}
    for method in METHODS[2:5]:
        word, sign = ("up", 1) if method == "SFT" else ("down", -1)
        if after := ratios.get(method):
            name = f"{method}: ratio of different words to usable answers {word}"
            seen[name] = sign * (after - before) > 0, f"{before:.3f} to {after:.3f}"
    scores = {name: rows[name].score or 0.0 for name in METHODS[1:] if name in rows}
    if "DPO 2" in scores:
        best = max(scores, key=lambda name: scores[name])
        seen["DPO 2: highest mean"] = best == "DPO 2", f"{best} {scores[best]:.4f}"
    return {
        name: f"{'yes' if yes else 'NO'} ({of})" for name, (yes, of) in seen.items()
    }


def four_lines(result: StudyResult) -> list[str]:
    """Of the first claim's arm: did it work, is it only hotter, what was lost, what next. Empty without claims."""
    study = result.study
    if not (study and study.claims):
        return []
    first = result.claims[0]
    claim = first.claim
    seed, *others = result.arms[claim.arm]
    worked = f"{first.cell.line}; {first.verdict}"
    if not others:
        each = [
            f"{arm} {result.over(claim.measure, arm).line}"
            for arm in (claim.arm, claim.against)
            if arm
        ]
        worked = "; ".join((first.cell.text, *each, _ONE))
    models = find_evaluated([study.output_dir])
    beside_base, beside_before = (
        [
            replace(one, target="")
            for one in findings(
                models, without_seed(bases.get(claim.arm + seed, claim.arm))[0]
            ).rows
            if one.first and one.model == claim.arm
        ]
        for bases in (study.bases(), study.bases("before"))
    )
    curve = [one for one in beside_base if one.kind == CURVE]
    hotter = _said(curve)
    if all(one.estimate.value is None for one in curve):
        hotter += f"{_DRAW} {study.file}"
    kept = [
        replace(one, estimate=Estimate(reason=_HAD_NONE))
        if one.base_value == 0 < one.measure.better
        else one
        for one in beside_before
        if one.task in study.control_tasks and one.kind != CURVE
    ]
    usable = [one for one in beside_base if one.measure.name == "dat/usable"]
    worse = [
        one.measure.name
        for one in (*usable, *kept)
        if one.estimate.sign * one.measure.better < 0
    ]
    again = f"sozo study {study.file} --model {study.model} --output {study.output_dir}"
    following = f"read the answers: sozo report {study.output_dir} --output report.html"
    if worse:
        following = f"{', '.join(worse)} got worse: {_RATE}, then {again}-lower"
    elif len(others) + 1 < FEWEST:
        following = f"more seeds: seeds: [1, 2, 3] in the file, then {again}"
    return [
        f"Did it work? {claim.formula}: {worked}",
        f"Only hotter? {hotter}",
        f"What was lost, against the model before any training? {_said(kept)}",
        f"What next? {following}",
    ]


def _said(rows: Sequence[Finding]) -> str:
    return (
        ". ".join(
            f"{english(state)}: {'; '.join(map(english, texts))}"
            for state, texts in stated(rows, True)
        )
        or "not known"
    )


def tables(result: StudyResult) -> list[Table]:
    """Claims, the rows, and what the paper has of them; only those that say something."""
    study = result.study
    claims: list[dict[str, Content]] = [
        {
            "Claim": one.claim.name,
            "It needs": one.claim.needs,
            "Found": one.cell,
            "p": Cell(one.p, P_VALUE),
            "So it": one.verdict,
            "Written": when_noted(Path(study.output_dir), one.claim),
        }
        for one in result.claims
        if study
    ]
    rows: list[dict[str, Content]] = [
        {"Row": arm}
        | {text: result.over(name, arm) for name, text in result.headings.items()}
        for arm in result.arms
    ]
    notes = [control_tasks.EXPLANATION] * bool(result.controls)
    shown = without_empty(tabulate("The rows", rows, notes))
    if model := result.table.paper_model:
        shown = replace(shown, papers=paper_table("dat_training", [model]))
    seen = tuple(f"{name}: {text}" for name, text in patterns(result.table).items())
    made = (
        tabulate("Claims", claims, _NOTES if claims else ()),
        shown,
        beside_table(result.table.rows),
        Table(_SEEN, (), (), seen),
    )
    return [one for one in made if one.rows or one.notes]


def pictures(result: StudyResult) -> Iterator[Figure]:
    """The arms by different words and score, and what trainings logged: a picture a value, a line a training."""
    spots, states = [], {}
    for place, arm in enumerate(result.arms):
        x, y = (
            result.over(name, arm).estimate.value
            for name in ("different words", "score")
        )
        if x is not None and y is not None:
            spots.append(Spot(arm, (x, y), (), place))
    if spots:
        across = result.headings["different words"]
        chart = scatter_chart(spots, across, "Score", "arms")
        yield Figure(_PICTURE, chart, keys=[spot.key for spot in spots])
    if result.study:
        states = {
            step.name: read_json(file, nan=True)["log_history"]
            for step in StudyList(result.study).steps.values()
            if (file := step.folder / "trainer_state.json").is_file()
        }
    for number, name in enumerate(_CURVES):
        lines = {
            training: line
            for training, entries in states.items()
            if (line := {one["step"]: one[name] for one in entries if name in one})
        }
        if lines:
            chart = steps_chart(name, lines, number)
            yield Figure(name.capitalize(), chart, keys=tuple(enumerate(lines)))


def to_markdown(result: StudyResult, lines: Sequence[str] = ()) -> str:
    """The lines, and the tables with what their columns say."""
    parts = [bullets(lines)] if lines else []
    for table in tables(result):
        if table.rows:
            parts.append(markdown(table))
        if table.papers:
            parts.append(f"The paper's:\n\n{markdown(table.papers)}")
        if table.notes:
            parts.append(bullets(table.notes))
    return "\n".join(parts)


def write_result(folder: Path, result: StudyResult, name: str) -> str:
    """Write report.html, `name`.md and, last, metrics.json into `folder`; returns the Markdown."""
    refuse_foreign(folder, "report.html")
    lines = four_lines(result)
    page = render(
        Path(__file__).with_name("page.html"),
        title=result.title,
        result=result.table,
        lines=lines,
        tables=tables(result),
        pictures=[*pictures(result)],
    )
    write_whole(folder / "report.html", page)  # first: it shows whose folder this is
    text = to_markdown(result, lines)
    write_whole(folder / f"{name}.md", f"# {result.title}\n\n{text}".encode())
    write_json(folder / "metrics.json", result.to_json())
    return text
