"""What one run says in a place of its own: its numbers as findings, and its texts."""

from sozo.eval.evaluated import Evaluated
from sozo.eval.findings import Finding, means
from sozo.eval.seeds import Method
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Task
from sozo.tasks.view import Place


def of_run(task: type[Task], run: RunResult, place: Place) -> list[Finding]:
    """What one run says in the columns that are shown in a place, such as W&B; texts are no findings."""
    model = Evaluated(str(run.metrics["source"]), runs={(run.task, run.kind): run})
    columns = [
        column
        for column in task.view.columns(task.measures, [run])
        if place in column.shown
    ]
    return list(means(Method(model.name, {"": model}), task, columns))


def texts_of_run(task: type[Task], run: RunResult, place: Place) -> dict[str, str]:
    """The texts that one run says there, by their columns: who judged, which prompt."""
    shown = [
        (column.name, cell.content)
        for column, cell in task.view.fill_columns(place, task.measures, run)
    ]
    return {name: content for name, content in shown if isinstance(content, str)}
