"""What came out of a study, or of any tables of answers: the rows, the arms over their seeds, claims, patterns."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from sozo.data.evaluations import read_evaluations
from sozo.data.published import METHODS
from sozo.data.record import read_json
from sozo.data.study_folder import StudyRow
from sozo.eval.report.charts import Steps
from sozo.scoring.languages import read_nouns
from sozo.scoring.measure import Estimate
from sozo.scoring.second_encoder import GainParts, SecondEncoder
from sozo.scoring.statistics.seeds import over_seeds
from sozo.scoring.table import Cell
from sozo.studies.study.arms import Arm
from sozo.studies.study.beside_paper import by_repeated_words, figures
from sozo.studies.study.claims import MEASURES, ClaimVerdict, Difference, Values, judge
from sozo.studies.study.config import Study
from sozo.studies.study.control_tasks import Controls, control_rows, to_json
from sozo.studies.study.steps import StudyList
from sozo.studies.study.table11 import Table11, Table11Row, table11, with_gains
from sozo.tasks.dat.instruments import DIVERSITY
from sozo.tasks.dat.view import instruments_of


@dataclass(frozen=True)
class StudyResult:
    """All that a page shows. Of tables without a study there are only rows."""

    title: str
    folders: Mapping[str, Path]  # of each row its answers
    table: Table11  # the rows; in a study an arm's at each of its seeds (`Study.at`)
    facts: Mapping[str, str] = field(
        default_factory=dict
    )  # what else a reader should know (model, seed)
    controls: Controls = field(
        default_factory=dict
    )  # what the control tasks say of the rows
    evaluations: Mapping[str, Mapping[str, Steps]] = field(
        default_factory=dict
    )  # measure -> row -> step -> value
    study: Study | None = None  # where it has arms or several seeds

    @property
    def arms(self) -> Sequence[Arm]:
        """Of the study."""
        return self.study.rows if self.study else ()

    def names(self, arm: Arm) -> dict[int, str]:
        """Of each of an arm's seeds the name of its row."""
        assert self.study is not None
        return {seed: self.study.at(arm.name, seed) for seed in arm.seeds}

    @cached_property
    def values(self) -> Mapping[str, Values]:
        """Measure -> arm -> seed -> value."""
        return {
            name: {
                arm.name: {
                    seed: self.cell(name, row).estimate.value
                    for seed, row in self.names(arm).items()
                }
                for arm in self.arms
            }
            for name in (*MEASURES, *(control.name for control in self.controls))
        }

    def cell(self, measure: str, name: str) -> Cell:
        """What the row of this name has of a measure, with an interval over its answers where one is known."""
        for control, by_row in self.controls.items():
            if control.name == measure:
                return by_row.get(name, Cell())
        row = next(row for row in self.table.rows if row.summary.source == name)
        known = MEASURES[measure]
        return Cell(known.value(row), known.measure, known.kind)

    @property
    def measures(self) -> list[str]:
        """Those that some row has."""
        return [
            name
            for name in MEASURES
            if any(_numbers(by_seed) for by_seed in self.values[name].values())
        ]

    @property
    def claims(self) -> list[ClaimVerdict]:
        """What came of the study's claims."""
        return judge(self.study.claims, self.values) if self.study else []

    @property
    def differences(self) -> list[tuple[Difference, Estimate | None]]:
        """The study's exploratory differences, with intervals over seeds; None where a seed has no such number."""
        lines = self.study.exploratory if self.study else []
        intervals = [line.interval(self.values[line.measure]) for line in lines]
        return [
            (line, None if isinstance(of, str) else of)
            for line, of in zip(lines, intervals, strict=True)
        ]

    def interval(self, measure: str, arm: Arm) -> Estimate | None:
        """Over the seeds that have a number; None if none has."""
        numbers = _numbers(self.values[measure][arm.name])
        return over_seeds(numbers) if numbers else None

    def to_json(self) -> dict[str, Any]:
        """For `metrics.json`."""
        table = self.table
        base = base_values(self.table)
        rows = []
        for row in table.rows:
            gain, second_gain = (value and value.to_json() for value in row.gains)
            rows.append(
                {
                    **asdict(row.summary),
                    "usable_share": row.summary.usable_share,
                    "usable_by_repeated_words": by_repeated_words(row),
                    "different_words": row.equal_size_words,
                    "hill_at_equal_size": asdict(row.hill) if row.hill else None,
                    "from_base": _differences(row, base),
                    "rarefaction": [list(point) for point in row.curve],
                    "paper": asdict(row.published) if row.published else None,
                    "beside_paper": list(map(asdict, figures(row))),
                    "gain": gain,
                    "second_gain": second_gain,
                    "second_parts": row.parts and _parts_to_json(row.parts),
                }
            )
        values = {
            "equal_size": table.equal_size,
            "paper_model": table.paper_model,
            "second_encoder": table.second_encoder,
            "second_encoder_revision": table.second_encoder_revision,
            "rows": rows,
            "patterns": patterns(table),
            "control_tasks": to_json(self.controls),
        }
        return values | (self._arms_to_json(self.study) if self.study else {})

    def _arms_to_json(self, study: Study) -> dict[str, Any]:
        arms: dict[str, dict[str, Any]] = {}
        for arm in self.arms:
            arms[arm.name] = {"seeds": list(arm.seeds)}
            for name in self.measures:
                mean = self.interval(name, arm)
                arms[arm.name][name] = (mean.to_json() if mean else {}) | {
                    "by_seed": self.values[name][arm.name]
                }
        claims = []
        for verdict in self.claims:
            numbers = verdict.interval.to_json() if verdict.interval else {}
            said = {
                "p": verdict.p,
                "p_opposite": verdict.p_opposite,
                "verdict": verdict.verdict,
                "reason": verdict.reason,
            }
            claims.append(asdict(verdict.claim) | numbers | said)
        exploratory = [
            asdict(line) | (found.to_json() if found else {})
            for line, found in self.differences
        ]
        return {
            "num_answers": study.num_answers,
            "arms": arms,
            "claims": claims,
            "exploratory": exploratory,
        }


def _parts_to_json(parts: GainParts) -> dict[str, Any]:
    values = {one.name: getattr(parts, one.name) for one in fields(parts)}
    return {
        name: value.to_json() if isinstance(value, Estimate) else value
        for name, value in values.items()
    }


def _numbers(by_seed: Mapping[int, float | None]) -> dict[int, float]:
    return {seed: value for seed, value in by_seed.items() if value is not None}


def tables_result(
    title: str,
    rows: Mapping[str, StudyRow],
    *,
    paper_model: str | None = None,
    second_encoder: str | None = None,
    bases: Mapping[str, str]
    | None = None,  # of each row its base; None is the row `base`, or else the first one
    controls: Sequence[tuple[str, Path]] = (),
    study: Study | None = None,
    nouns: str | None = None,
) -> StudyResult:
    """Read the rows' tables of answers and what their trainings measured, and the runs of control tasks.

    These are compared with the model before any training.

    The second encoder's gain is taken apart by vectors centred on `nouns` (as in `read_nouns`).
    """
    folders = {name: row.answers for name, row in rows.items()}
    # What is wrong with it shows before the tables are read.
    language = _language(folders)
    second = (
        SecondEncoder(second_encoder, read_nouns(nouns, language), language)
        if second_encoder
        else None
    )
    # However few usable lists a base has at a high temperature, the other rows' words are counted in as many as without.
    beside = set()
    if study:
        again = [arm for arm in study.rows if arm.again or arm.name == "before"]
        beside = {study.at(arm.name, seed) for arm in again for seed in arm.seeds}
    table = table11(folders, paper_model, beside)
    if second or study:
        table = with_gains(table, folders, second, bases)
    if bases is None:
        bases = {name: "base" for name in folders if name != "base"}
    if study:
        bases = study.bases("before")
    return StudyResult(
        title,
        folders,
        table,
        facts=scorer_facts(folders)
        | ({"Second encoder": table.second_encoder} if table.second_encoder else {}),
        controls=control_rows(controls, bases),
        evaluations=evaluations(rows),
        study=study,
    )


def study_result(study: Study) -> StudyResult:
    """Read the rows of a finished study."""
    made = StudyList(study)
    with_arms = study.arms is not None or len(study.seeds) > 1
    model = study.model.replace("{seed}", "SEED")
    return tables_result(
        f"The study {study.name}: {model}" if with_arms else f"Table 11: {model}",
        made.rows,
        paper_model=study.paper_model,
        second_encoder=study.second_encoder,
        bases=study.bases(),
        controls=made.controls,
        study=study if with_arms else None,
        nouns=study.nouns,
    )


def _language(folders: Mapping[str, Path]) -> str:
    """In which the rows' words were asked for, as the first row's folder records it."""
    config = next((path / "config.json" for path in folders.values()), None)
    return (
        str(read_json(config).get("settings", {}).get("language", "ja"))
        if config and config.is_file()
        else "ja"
    )


def scorer_facts(folders: Mapping[str, Path]) -> dict[str, str]:
    """Checker and encoder of the rows, as their folders record them: one value where all agree."""
    configs = [
        read_json(path / "config.json")
        for path in folders.values()
        if (path / "config.json").is_file()
    ]
    scorers = [config.get("loaded", {}).get("scorer", {}) for config in configs]
    facts = {}
    for fact, key in (
        ("Noun checker", "noun_checker"),
        ("Embedding model", "embedding_model"),
    ):
        if values := dict.fromkeys(
            str(scorer[key]) for scorer in scorers if key in scorer
        ):
            facts[fact] = ", ".join(values)
    return facts


def evaluations(rows: Mapping[str, StudyRow]) -> dict[str, dict[str, dict[int, float]]]:
    """What trainings measured as they went (docs/while-training.md): measure -> row -> step -> value."""
    evaluated = {
        name: read_evaluations(Path(row.model))
        for name, row in rows.items()
        if row.model
    }
    evaluated = {name: steps for name, steps in evaluated.items() if steps}
    by_measure: dict[str, dict[str, dict[int, float]]] = {}
    for name, steps in evaluated.items():
        for step, values in steps.items():
            for measure, value in values.items():
                # Every chart has all rows, so that a row has the same colour in each.
                by_row = by_measure.setdefault(measure, {row: {} for row in evaluated})
                by_row[name][step] = value
    return by_measure


def row_values(row: Table11Row) -> dict[str, float]:
    """A row's instruments, its mean with its standard error, and its words' diversity at equal sample size."""
    summary = (
        row.summary
    )  # whose diversity, with its intervals, is of all its usable answers
    values = {
        name: value
        for name, value in summary.instruments.items()
        if not name.startswith(DIVERSITY)
    }
    if summary.score is not None and summary.std is not None:
        values |= {
            "score": summary.score,
            "score_se": summary.std / math.sqrt(summary.usable),
        }
    return values | (
        {name: getattr(row.hill, name) for name in DIVERSITY} if row.hill else {}
    )


def base_values(table: Table11) -> dict[str, float]:
    """The same of the row `base`; empty without one."""
    return next(
        (row_values(row) for row in table.rows if row.summary.source == "base"), {}
    )


def _differences(
    row: Table11Row, base: Mapping[str, float]
) -> dict[str, tuple[float, float]]:
    """What a row has more than the row `base`, with standard errors, by the instruments' names."""
    own = row_values(row)
    pairs = {}
    for name in ("score", *instruments_of([row.summary])) if own != base else ():
        if (pair := difference(own, base, name)) is not None:
            pairs[name] = pair
    return pairs


def difference(
    values: Mapping[str, float], base: Mapping[str, float], name: str
) -> tuple[float, float] | None:
    """How much a row has more of an instrument than another one, and its standard error; None without one.

    The lists of two rows are drawn apart, so that the jackknife's variances add up.
    """
    if not {name, f"{name}_se"} <= values.keys() & base.keys():
        return None
    return values[name] - base[name], math.hypot(
        values[f"{name}_se"], base[f"{name}_se"]
    )


def patterns(table: Table11) -> dict[str, str]:
    """What the paper says of its table (section 5.2) -> whether this one shows it: yes or NO, with figures.

    Numbers are compared as they are: a difference within the noise of few answers says yes or NO too. The ratio falls
    with the number of usable answers by itself; different words at equal size do not.
    """
    rows = {row.summary.source: row.summary for row in table.rows}
    ratios = {
        name: row.all_different_words / row.usable
        for name, row in rows.items()
        if row.usable
    }
    if "base" not in ratios:
        return {}
    result = {}
    for method, word, sign in (
        ("SFT", "up", 1),
        ("DPO 1", "down", -1),
        ("DPO 2", "down", -1),
    ):
        if method in ratios:
            before, after = ratios["base"], ratios[method]
            result[f"{method}: ratio of different words to usable answers {word}"] = (
                _answer(sign * (after - before) > 0, f"{before:.3f} to {after:.3f}")
            )
    trained = {
        name: row.score
        for name, row in rows.items()
        if name in METHODS[1:] and row.score is not None
    }
    if "DPO 2" in trained:
        best = max(trained, key=lambda method: trained[method])
        result["DPO 2: highest mean"] = _answer(
            best == "DPO 2", f"{best} {trained[best]:.4f}"
        )
    return result


def _answer(holds: bool, figures: str) -> str:
    return f"{'yes' if holds else 'NO'} ({figures})"
