"""What a study's trainings measured as they went: for each measure a chart with a line for each row."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from sozo.data.evaluations import read_evaluations
from sozo.data.study_folder import StudyRow
from sozo.eval.report.charts import Steps, steps_chart


class EvaluationChart(NamedTuple):
    """One measure."""

    measure: str
    rows: tuple[str, ...]  # in the order of the colours
    svg: str


def evaluation_charts(rows: Mapping[str, StudyRow]) -> list[EvaluationChart]:
    """The charts of those rows whose own training was evaluated (docs/training.md); none without any."""
    evaluated = {name: read_evaluations(Path(row.model)) for name, row in rows.items() if row.model}
    evaluated = {name: steps for name, steps in evaluated.items() if steps}
    measures = dict.fromkeys(name for steps in evaluated.values() for values in steps.values() for name in values)
    charts = []
    for number, measure in enumerate(measures):
        lines: dict[str, Steps] = {
            name: {step: values[measure] for step, values in steps.items() if measure in values}
            for name, steps in evaluated.items()
        }
        charts.append(EvaluationChart(measure, tuple(lines), steps_chart(measure, lines, number)))
    return charts
