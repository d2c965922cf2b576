"""The page of a study, or of any tables of answers, read from folders; the same as Markdown, CSV and JSON."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sozo.data.markdown import bullets
from sozo.data.published import METHODS
from sozo.data.record import read_json, refuse_foreign, write_json, write_whole
from sozo.data.study_folder import without_seed
from sozo.eval.curve import CURVE
from sozo.eval.evaluated import Evaluated, find_evaluated
from sozo.eval.findings import findings
from sozo.eval.report.answer import stated
from sozo.eval.report.charts import Spot, scatter_chart, steps_chart
from sozo.eval.report.labels import english
from sozo.eval.report.pictures import Figure
from sozo.eval.report.render import render
from sozo.eval.report.tables import paper_table, without_empty
from sozo.scoring.languages import read_nouns
from sozo.scoring.measure import FEWEST
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
from sozo.tasks import finished_run

_ONE = (
    "of one training each, in brackets over its answers; another seed may say otherwise"
)
_NOTES = (
    "Found: the mean over n seeds with its 95% interval (Student's t); of two arms, of their difference at each seed.",
    "p: that the claim does not hold, one-sided, corrected by Holm for the number of claims.",
    f"A claim held where p is at most {ONE_SIDED}, and failed where that of the opposite is. What is exploratory is not tested.",
)
_PICTURE = "Farther apart is up, more different words is right. A dot is an arm, its small dots are its seeds."
# What trainings log, by the last part of its name.
_CURVES = {
    "reward": "Reward of an answer",
    "usable": "Usable answers",
    "loss": "Loss",
}
_SEEN = "What the paper saw, and whether this study shows it"


@dataclass(frozen=True)
class StudyResult:
    """All that a page shows. Of tables without a study there are only rows."""

    title: str
    table: Table11  # the rows; in a study an arm's at each of its seeds (`Study.at`)
    controls: control_tasks.Controls = field(default_factory=dict)
    models: Sequence[Evaluated] = ()  # the rows' finished runs
    study: Study | None = None

    @cached_property
    def arms(self) -> dict[str, dict[str, str]]:
        """Of each arm its rows by the sign of their seed (`@1`), which is empty for the first."""
        arms: dict[str, dict[str, str]] = {}
        for row in self.rows:
            arm, seed = without_seed(row)
            arms.setdefault(arm, {})[seed] = row
        return arms

    @cached_property
    def rows(self) -> dict[str, Table11Row]:
        """By their names."""
        return {row.summary.source: row for row in self.table.rows}

    @cached_property
    def cells(self) -> dict[str, dict[str, Cell]]:
        """What rows have: measure -> row -> cell, with an interval over its answers where one is known."""
        cells = {
            name: {of: known.cell(row) for of, row in self.rows.items()}
            for name, known in MEASURES.items()
        }
        for control, by_row in self.controls.items():
            cells[control.name] = {of: by_row.get(of, Cell()) for of in self.rows}
        return cells

    @cached_property
    def values(self) -> dict[str, Values]:
        """Measure -> arm -> seed -> value."""
        return {
            name: {
                arm: {seed: cells[row].estimate.value for seed, row in rows.items()}
                for arm, rows in self.arms.items()
            }
            for name, cells in self.cells.items()
        }

    @cached_property
    def headings(self) -> dict[str, str]:
        """What tables call the measures."""
        named = {name: name.capitalize() for name in MEASURES}
        named["all different words"] = named["different words"]
        named["different words"] += f" in {self.table.equal_size:,} usable"
        for control in self.controls:
            named[control.name] = control_tasks.heading(control)
        return named

    def over(self, measure: str, arm: str) -> Cell:
        """An arm's mean over its seeds with Student's interval; of one seed what its row has."""
        row, *others = self.arms[arm].values()
        if not others:
            return self.cells[measure][row]
        mean = self._found(Difference(arm=arm, measure=measure))
        return replace(mean.cell, below=())  # that seeds are few, their n says

    def _found(self, line: Difference) -> ClaimVerdict:
        return ClaimVerdict(line, line.interval(self.values[line.measure]))

    @cached_property
    def claims(self) -> list[ClaimVerdict]:
        """What came of the study's claims, and of what is exploratory."""
        if self.study is None:
            return []
        others = map(self._found, self.study.exploratory)
        return [*judge(self.study.claims, self.values), *others]

    def to_json(self) -> dict[str, Any]:
        """For `metrics.json`."""
        values = asdict(self.table)
        for row, stored in zip(self.table.rows, values["rows"], strict=True):
            stored |= stored.pop("summary") | {
                "usable_share": row.summary.usable_share,
                "beside_paper": list(map(asdict, figures(row))),
                "from_base": _from_base(
                    row.summary, self.rows.get("base", row).summary
                ),
            }
        values["patterns"] = patterns(self.table)
        values["control_tasks"] = control_tasks.to_json(self.controls)
        if self.study:
            values["claims"] = list(map(asdict, self.claims))
            values["arms"] = {
                arm: {name: self.over(name, arm).exact for name in self.cells}
                for arm in self.arms
            }
        return values


def _from_base(own: Any, base: Any) -> dict[str, Any]:
    """How much higher a mean is than the base's, with the standard error; empty of the base."""
    if own is base or None in (own.std, base.std):
        return {}
    errors = (one.std / math.sqrt(one.usable) for one in (own, base))
    return {"score": (own.score - base.score, math.hypot(*errors))}


def tables_result(
    title: str,
    folders: Mapping[str, Path],
    paper_model: str | None = None,
    second_encoder: str | None = None,
    nouns: str | None = None,
    study: Study | None = None,
) -> StudyResult:
    """Read the rows' tables of answers, which lie in folders, and, of a study, the runs of its control tasks.

    Gains are over the study's bases, or else the row `base` or the first one. The second encoder's is taken apart by
    vectors centred on `nouns` (as in `read_nouns`).
    """
    runs = {name: run for name in folders if (run := finished_run(folders[name]))}
    second = None  # what is wrong with it shows before the tables are read
    if second_encoder:
        language = next((run.language for run in runs.values()), "ja")
        second = SecondEncoder(second_encoder, read_nouns(nouns, language), language)
    base = "base" if "base" in folders else next(iter(folders))
    bases, beside = {name: base for name in folders if name != base}, list[str]()
    controls: control_tasks.Controls = {}
    if study:
        # However few usable lists a base has at a high temperature, the others' words are counted in as many as without.
        again = [arm for arm in study.rows if arm.again or arm.name == "before"]
        beside = [study.at(arm.name, seed) for arm in again for seed in arm.seeds]
        bases, before = study.bases(), study.bases("before")
        controls = control_tasks.control_rows(StudyList(study).controls, before)
    table = table11(folders, paper_model, beside, bases, second)
    models = [Evaluated(name, runs={("", ""): run}) for name, run in runs.items()]
    return StudyResult(title, table, controls, models, study)


def study_result(study: Study) -> StudyResult:
    """Read the rows of a finished study."""
    kind = "Table 11" if study.arms is None else f"The study {study.file.stem}"
    folders = {name: row.answers for name, row in StudyList(study).rows.items()}
    settings = study.paper_model, study.second_encoder, study.nouns
    return tables_result(f"{kind}: {study.model}", folders, *settings, study)


def patterns(table: Table11) -> dict[str, str]:
    """What the paper says of its table (section 5.2) -> whether this one shows it: yes or NO, with figures.

    Numbers are compared as they are: a difference within the noise of few answers says yes or NO too. The ratio falls
    with the number of usable answers by itself; different words at equal size do not.
    """
    rows = {row.summary.source: row.summary for row in table.rows if row.summary.usable}
    ratios = {name: row.all_different_words / row.usable for name, row in rows.items()}
    if not (before := ratios.get("base")):
        return {}
    seen = {}
    for method, word, sign in (
        ("SFT", "up", 1),
        ("DPO 1", "down", -1),
        ("DPO 2", "down", -1),
    ):
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
    row, *others = result.arms[claim.arm].values()
    worked = f"{first.cell.line}; {first.verdict}"
    if not others:
        each = [
            f"{arm} {result.over(claim.measure, arm).line}"
            for arm in (claim.arm, claim.against)
            if isinstance(arm, str)
        ]
        worked = "; ".join((first.cell.text, *each, _ONE))
    following = f"read the answers: sozo report {study.output_dir} --output report.html"
    if len(others) + 1 < FEWEST:
        again = f"sozo study {study.file} --model {study.model}"
        following = f"more seeds: seeds: [1, 2, 3] in that file, then {again}"
    models = find_evaluated([study.output_dir])

    def said(base: str, *, curve: bool) -> str:
        rows = [
            replace(one, target="")
            for one in findings(models, base).rows
            if one.first
            and one.model == claim.arm
            and (one.kind == CURVE) == curve
            and (curve or one.task in study.control_tasks)
        ]
        states = [
            f"{english(state)}: {'; '.join(map(english, texts))}"
            for state, texts in stated(rows, True)
        ]
        return ". ".join(states) or "not known"

    base, before = (
        without_seed(bases.get(row, row))[0]
        for bases in (study.bases(), study.bases("before"))
    )
    hotter, lost = said(base, curve=True), said(before, curve=False)
    if "not " in hotter:
        drawn = [arm for arm in result.arms if arm.startswith(f"{base} temperature=")]
        than = f"than {', '.join(drawn)}" if drawn else "too"
        hotter += f" (to compare, draw {base} at other temperatures {than}: its sampling in {study.file})"
    record = Path(StudyList(study).rows[row].model or "", "run_config.json")
    if record.is_file():
        beside = read_json(record)["free"]["script"].get("beside") or {}
        lost += "".join(f"; at most {n} of {path} beside" for path, n in beside.items())
    return [
        f"Did it work? {claim.formula}: {worked}",
        f"Only hotter? {hotter}",
        f"What was lost, against the model before any training? {lost}",
        f"What next? {following}",
    ]


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
            "Written": when_noted(Path(study.output_dir), one.claim) if study else "",
        }
        for one in result.claims
    ]
    rows: list[dict[str, Content]] = [
        {"Row": arm}
        | {text: result.over(name, arm) for name, text in result.headings.items()}
        for arm in result.arms
    ]
    notes = [control_tasks.EXPLANATION] * bool(result.controls)
    shown = without_empty(tabulate("The rows", rows, notes))
    if model := result.table.paper_model:
        shown = replace(shown, papers=paper_table("dat_training", (model,)))
    seen = tuple(f"{name}: {text}" for name, text in patterns(result.table).items())
    made = (
        tabulate("Claims", claims, _NOTES if claims else ()),
        shown,
        beside_table(result.table.rows),
        Table(_SEEN, (), (), seen),
    )
    return [one for one in made if one.rows or one.notes]


def pictures(result: StudyResult) -> list[Figure]:
    """The arms by different words and score, each with its seeds, and what trainings logged."""
    axes, spots = ("different words", "score"), []
    for place, arm in enumerate(result.arms):
        x, y = (result.over(name, arm).estimate.value for name in axes)
        seeds = zip(*(result.values[name][arm].values() for name in axes), strict=True)
        if x is not None and y is not None:
            known = [(x, y) for x, y in seeds if x is not None and y is not None]
            spots.append(Spot(arm, (x, y), known, place))
    curves = training_curves(result.models)
    if not spots:
        return [*curves]
    chart = scatter_chart(spots, result.headings["different words"], "Score", "arms")
    return [Figure(_PICTURE, chart, keys=[spot.key for spot in spots]), *curves]


def training_curves(models: Sequence[Evaluated]) -> list[Figure]:
    """What the trainings in these models' folders logged: a picture a value, a line a model."""
    logged: dict[str, dict[str, dict[int, float]]] = {}
    for model in models:
        folders = {Path(run.settings.get("model") or "") for run in model.runs.values()}
        states = [folder / "trainer_state.json" for folder in folders]
        for state in filter(Path.is_file, states):
            for entry in read_json(state, nan=True)["log_history"]:
                for name in entry.keys() & _CURVES.keys():
                    line = logged.setdefault(name, {}).setdefault(model.name, {})
                    line[entry["step"]] = entry[name]
    return [
        Figure(
            _CURVES[name],
            steps_chart(_CURVES[name], logged[name], number),
            keys=tuple(enumerate(logged[name])),
        )
        for number, name in enumerate(_CURVES)
        if name in logged
    ]


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
        pictures=pictures(result),
    )
    write_whole(folder / "report.html", page)  # first: it shows whose folder this is
    text = to_markdown(result, lines)
    write_whole(folder / f"{name}.md", f"# {result.title}\n\n{text}".encode())
    write_json(folder / "metrics.json", result.to_json())
    return text
