"""Evaluation while a model trains: it answers tasks every n steps, its values are logged, and floors may end the run.

The training does not notice: nothing of its random numbers, its mode or its metrics is touched.
"""

import logging
from collections import ChainMap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm
from transformers import Trainer, TrainerCallback

from sozo.data.evaluations import read_evaluations, write_evaluations
from sozo.data.processes import Processes, gather, rank, world_size
from sozo.data.prompts.form import PLAIN, PromptForm
from sozo.models.generator import answer_items
from sozo.tasks.task import Answer, Item, Row
from sozo.training.evaluate import EvaluateSettings, Floor

logger = logging.getLogger(__name__)
_LOGGED = "eval_"  # from which transformers' loggers make a section of its own: `eval/dat`


class Evaluation(TrainerCallback):
    """Answers the tasks before the first step, every `settings.every` steps and behind the last one.

    Values go to the trainer's loggers as `eval_NAME` and into `evaluations.jsonl`; a run that continues takes those
    from there that it finds. Floors look at all that is logged. `trainer` must be set before training starts.
    """

    trainer: Any = None

    def __init__(self, settings: EvaluateSettings, output: Path, form: PromptForm = PLAIN, *, first: bool) -> None:
        self._settings, self._output, self._form, self._first = settings, output, form, first
        self._watch = FloorWatch(settings.floors, say=first)
        self._known: dict[int, dict[str, float]] = {}
        self.stopped: str | None = None  # which floor ended the run
        if first:  # what is wrong with these shows before a model is loaded
            _ = settings.second, [evaluated.task for evaluated in settings.evaluated]

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Read what an earlier part of the run found, and evaluate the model that comes in."""
        self._known = gather(read_evaluations(self._output))[0]
        if state.global_step == 0:
            self._evaluate(state, control)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Evaluate, before a checkpoint of this step is written."""
        if state.global_step % self._settings.every == 0 or state.global_step == state.max_steps:
            self._evaluate(state, control)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Hold what is logged against the floors; every process does as the first one says."""
        if not self._settings.floors:
            return
        values = {name.removeprefix(_LOGGED): value for name, value in (logs or {}).items()}
        if reason := gather(self._watch.stop(values, state.global_step))[0]:
            self.stopped, control.should_training_stop = reason, True

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Say what nobody could look at."""
        self._watch.finish()

    def _evaluate(self, state: Any, control: Any) -> None:
        step = state.global_step
        if step not in self._known:
            self._known[step] = self._values()
            if self._first:
                write_evaluations(self._output, self._known)
        values = self._known[step]
        if self._first:
            shown = "  ".join(f"{name} {value:.4g}" for name, value in values.items())
            tqdm.write(f"step {step:>5}/{state.max_steps}  evaluation  {shown}")
        # A trainer of TRL's would add its running means and forget them; and this step's own log may be still to come.
        should_log = control.should_log
        Trainer.log(self.trainer, {f"{_LOGGED}{name}": value for name, value in values.items()})
        control.should_log = should_log

    def _values(self) -> dict[str, float]:
        """What the model's answers are worth now; each process draws its batches."""
        from trl.models import unwrap_model_for_generation

        from sozo.models.transformers_model import TransformersGenerator

        settings, trainer = self._settings, self.trainer
        values: dict[str, float] = {}
        processes = Processes(rank(), world_size())
        with unwrap_model_for_generation(trainer.model_wrapped, trainer.accelerator) as model:
            for evaluated in settings.evaluated:
                decoder: dict[str, Any] = {
                    "max_new_tokens": evaluated.max_new_tokens,
                    "temperature": settings.temperature,
                }
                writer = TransformersGenerator(model, trainer.processing_class, form=self._form, **decoder)
                scored: dict[int, list[tuple[Item, Answer, Row]]] = {}
                for number, items in enumerate(evaluated.batches()):
                    if processes.mine(number):
                        answers = answer_items(writer, items, settings.seed, number)
                        rows = evaluated.task.score(items, answers)
                        scored[number] = list(zip(items, answers, rows, strict=True))
                scored = dict(ChainMap(*gather(scored)))
                if processes.first:
                    every = zip(*(one for number in sorted(scored) for one in scored[number]), strict=True)
                    values |= settings.values(evaluated.task, evaluated.task.with_others(*every))
        return gather(values)[0]


class FloorWatch:
    """Looks at what is logged; says once that a floor is broken, and again only after it held in between."""

    def __init__(self, floors: Sequence[Floor], *, say: bool) -> None:
        self._floors, self._say = floors, say
        self._broken: dict[Floor, bool] = {}  # of floors whose measure was logged

    def stop(self, values: Mapping[str, Any], step: int) -> str | None:
        """Why the run must stop; None if it need not."""
        reasons = []
        for floor in self._floors:
            if not isinstance(value := values.get(floor.measure), int | float):
                continue
            wrong = floor.broken(value)
            stops = wrong and floor.action == "stop"
            if wrong and self._say and not self._broken.get(floor):
                logger.warning("step %d: %s%s", step, wrong, "; training stops" if stops else "")
            self._broken[floor] = wrong is not None
            if stops:
                reasons.append(f"step {step}: {wrong}")
        return "; ".join(reasons) or None

    def finish(self) -> None:
        """Say which floors nobody could look at."""
        for floor in self._floors:
            if self._say and floor not in self._broken:
                logger.warning("floor of %s: nothing of this name was logged", floor.measure)
