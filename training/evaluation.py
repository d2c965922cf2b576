"""Evaluation while a model trains: it answers tasks every n steps, and its values are logged.

The training does not notice: nothing of its random numbers, its mode or its metrics is touched. What is evaluated is
`evaluate` in a run's YAML, read and checked before a model loads.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, PositiveInt, ValidationError
from transformers import Trainer, TrainerCallback

from sozo.data.errors import UserError
from sozo.data.evaluations import read_evaluations, write_evaluations
from sozo.data.processes import gather, rank, world_size
from sozo.data.prompts.form import PLAIN, PromptForm
from sozo.data.settings import from_json, from_validation, settings_of
from sozo.models.generator import answer_items
from sozo.tasks import task_type
from sozo.tasks.task import Answer, Item, Row, Task
from sozo.training.entries import tasks_of

_BATCH = 64  # answers that one process draws at once
_SEED = 1_000_000  # far from those of the tables drawn of the trained model


class EvaluateSettings(BaseModel):
    """The mapping `evaluate`."""

    model_config = ConfigDict(extra="forbid", strict=True)
    every: PositiveInt  # steps between two evaluations; the first is before training, the last behind the last step
    tasks: list[Any]  # names of tasks, or mappings: task, its settings
    num_answers: PositiveInt = 256  # of each task
    max_new_tokens: PositiveInt | None = None  # longest answer (default: the task's)

    @cached_property
    def by_kind(self) -> dict[type[Task], Any]:
        """The settings of each task; none is built, as a plan is also made where Juman++ is missing."""
        found = {}
        for options in tasks_of(self.tasks):
            kind = task_type(str(options.get("task")))
            if kind.score is Task.score:
                raise UserError(
                    f"no answer to {kind.name} is worth anything without a judge; leave it out"
                )
            own = {name: options[name] for name in options if name != "task"}
            found[kind] = settings_of(kind.Settings, own)
        if len(found) < len(self.tasks):
            raise UserError("tasks must name different tasks, such as [dat]")
        return found


def read_evaluate(settings: Any) -> EvaluateSettings | None:
    """The settings of a run, from YAML's mapping or JSON; None where nothing is to be evaluated."""
    settings = from_json(settings, "evaluate")
    if settings is None:
        return None
    try:
        read = EvaluateSettings.model_validate(settings)
        _ = read.by_kind
    except ValidationError as error:
        raise from_validation(
            error, "evaluate", EvaluateSettings.model_fields
        ) from error
    except UserError as error:
        raise UserError(f"evaluate: {error}") from error
    return read


class Evaluation(TrainerCallback):
    """Answers the tasks before the first step, every `settings.every` steps and behind the last one.

    Values go to the trainer's loggers as `eval_NAME` and into `evaluations.jsonl`; a run that continues takes those
    from there that it finds. `trainer` must be set before training starts.
    """

    trainer: Any = None

    def __init__(
        self, settings: EvaluateSettings, output: Path, form: PromptForm = PLAIN
    ) -> None:
        """Build the tasks: what is wrong with them shows before a model is loaded."""
        self._settings = settings
        self._output = output
        self._form = form
        self._tasks = [kind(own) for kind, own in settings.by_kind.items()]
        self._by_step: dict[int, dict[str, float]] = {}

    def on_train_begin(
        self, args: Any, state: Any, control: Any, **kwargs: Any
    ) -> None:
        """Read what an earlier part of the run found, and evaluate the model that comes in."""
        self._by_step = gather(read_evaluations(self._output))[0]
        if state.global_step == 0:
            self._evaluate(state, control)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Evaluate, before a checkpoint of this step is written."""
        step = state.global_step
        if step % self._settings.every == 0 or step == state.max_steps:
            self._evaluate(state, control)

    def _evaluate(self, state: Any, control: Any) -> None:
        step = state.global_step
        if step not in self._by_step:
            self._by_step[step] = self._drawn()
            if state.is_world_process_zero:
                write_evaluations(self._output, self._by_step)
        values = {f"eval_{name}": value for name, value in self._by_step[step].items()}
        # A trainer of TRL's would add its running means and forget them; and this step's own log may be still to come.
        should_log = control.should_log
        Trainer.log(self.trainer, values)
        control.should_log = should_log

    def _drawn(self) -> dict[str, float]:
        """What the model's answers are worth now; each process draws its batches."""
        from trl.models import unwrap_model_for_generation

        from sozo.models.transformers_model import TransformersGenerator

        trainer = self.trainer
        values: dict[str, float] = {}
        with unwrap_model_for_generation(
            trainer.model_wrapped, trainer.accelerator
        ) as model:
            for task in self._tasks:
                writer = TransformersGenerator(
                    model,
                    trainer.processing_class,
                    form=self._form,
                    max_new_tokens=self._settings.max_new_tokens or task.max_new_tokens,
                )
                batches = batches_of(task, self._settings.num_answers)
                scored: list[tuple[Item, Answer, Row]] = []
                for k in range(rank(), len(batches), world_size()):
                    items = batches[k]
                    answers = answer_items(writer, items, _SEED, k)
                    scored += zip(
                        items, answers, task.score(items, answers), strict=True
                    )
                every = zip(*chain(*gather(scored)), strict=True)
                values |= evaluated(task, task.with_others(*every))
        return values


def batches_of(task: Task, num_answers: int) -> list[list[Item]]:
    """The items to answer, in turn, batch by batch."""
    items = task.items()
    places = range(num_answers)
    asked = [items[k // task.answers_per_item % len(items)] for k in places]
    return [asked[first : first + _BATCH] for first in places[::_BATCH]]


def evaluated(task: Task, rows: Sequence[Row]) -> dict[str, float]:
    """An evaluation of one task: means of what has a value, the usable share, and what answers show together."""
    values = {
        f"{task.name}/usable": sum(row.reason is None for row in rows) / len(rows)
    }
    for name in (measure.name for measure in task.measures):
        if known := [row.values[name] for row in rows if name in row.values]:
            values[name] = sum(known) / len(known)
    if source := task.noun_source():
        values |= source.together(rows)
    return {name: float(value) for name, value in values.items()}
