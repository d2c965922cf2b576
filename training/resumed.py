"""What a run that goes on takes from its checkpoint beside what transformers does: sums, and what processes share."""

import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from accelerate.utils import parse_flag_from_env
from transformers import TrainerCallback, set_seed
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from sozo.data.errors import UserError
from sozo.data.processes import gather, world_size
from sozo.data.record import read_json, write_whole

_SUMS = "sums.json"
_ANOTHER = "or give another output folder"


class Sums(TrainerCallback):
    """Keeps in each checkpoint what transformers and TRL sum up over a run, and goes on with it.

    So what is logged, `train_loss` and `train_runtime` are the whole run's, as if nothing had interrupted it. It stands
    before the callback that completes a checkpoint; `trainer` must be set before training starts.
    """

    trainer: Any = None

    def __init__(self, checkpoint: Path | None) -> None:
        self.before: dict[str, Any] = read_json(checkpoint / _SUMS, nan=True) if checkpoint else {}
        self._seconds = self.before.get("seconds", 0.0)  # of training, before `_began`
        self._processes = len(self.before.get("processes", ()))
        self._began = 0.0

    @property
    def _other_processes(self) -> bool:
        return self._processes != world_size()

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Put the sums of the checkpoint in the place of the zeros with which transformers begins."""
        self._began, trainer = time.monotonic(), self.trainer
        if not self.before:
            return
        processes = self.before["processes"]
        mine = processes[args.process_index % len(processes)]
        if self._other_processes:
            mine["loss"] = sum(process["loss"] for process in processes) / len(processes)
            # For processes whose random state nobody saved: that of their first step would draw the same again.
            random = np.random.SeedSequence([args.seed, state.global_step, args.process_index])
            set_seed(int(random.generate_state(1)[0]))
        trainer._total_loss_scalar, trainer._globalstep_last_logged = self.before["loss"], self.before["logged"]
        trainer._initial_global_step = 0  # the step from which on losses are summed
        trainer._tr_loss += mine["loss"]
        trainer._metrics["train"].update(mine["metrics"])
        trainer._total_train_tokens = self.before["tokens"]
        trainer.log = partial(self._log, trainer.log)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Write the sums into the checkpoint that the trainer has just written."""
        trainer = self.trainer
        processes = gather({"loss": trainer._tr_loss.item(), "metrics": trainer._metrics["train"]})
        if state.is_world_process_zero:
            sums = {
                "seconds": self._seconds + time.monotonic() - self._began,
                "loss": trainer._total_loss_scalar,  # of the steps up to `logged`; each process has the rest
                "logged": trainer._globalstep_last_logged,
                "tokens": getattr(trainer, "_total_train_tokens", 0),
                "micro_batch": args.per_device_train_batch_size,
                "processes": processes,
            }
            checkpoint = Path(args.output_dir) / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}"
            write_whole(checkpoint / _SUMS, json.dumps(sums).encode())  # a metric may be NaN

    def refuse_other_shards(self, checkpoint: Path, training: Any) -> None:
        """Refuse an optimizer's state that was saved in another way, or for other processes, than it will be read."""
        saved = {"DeepSpeed": checkpoint.glob("global_step*"), "FSDP": checkpoint.glob("optimizer[._][b0]*")}
        before = next((name for name, files in saved.items() if any(files)), None)
        launched = {"DeepSpeed": training.deepspeed, "FSDP": training.fsdp}
        flags = {name: parse_flag_from_env(f"ACCELERATE_USE_{name.upper()}") for name in launched}
        now = next((name for name in launched if launched[name] or flags[name]), None)
        if before != now:
            how = [f"under {name}" if name else "without DeepSpeed or FSDP" for name in (before, now)]
            raise UserError(
                f"{checkpoint}: its optimizer was saved {how[0]} and cannot be read {how[1]}; "
                f"launch as before, {_ANOTHER}"
            )
        if now and self._other_processes:
            raise UserError(
                f"{checkpoint}: {now} saved its optimizer in parts for {self._processes} process(es), but now there "
                f"are {world_size()}; launch {self._processes}, {_ANOTHER}"
            )

    def other_than_unbroken(self, script: Any, training: Any) -> str | None:
        """What will not be as in an unbroken run, since processes or micro-batches are others."""
        size, changed = training.per_device_train_batch_size, []
        if self._other_processes:
            changed.append(f"{world_size()} process(es) after {self._processes}")
        if size != self.before["micro_batch"]:
            changed.append(f"per_device_train_batch_size {size} after {self.before['micro_batch']}")
        if not changed:
            return None
        sampler, what, others = getattr(script, "sampler", None), "examples", ["sums are rounded otherwise"]
        if sampler:
            what = "prompts"
            if self._other_processes and sampler != "shared_prefix":
                others.append(f"sampler {sampler} draws other completions")
            if self._other_processes and training.steps_per_generation > training.gradient_accumulation_steps:
                others.append("a generation's completions are dealt otherwise to its steps")
        others.append("dropout, if there is any, drops others")
        return f"goes on with {', '.join(changed)}: each step has the same {what}, but {', '.join(others)}"

    def _log(self, log: Any, logs: dict[str, Any], *args: Any) -> None:
        """The trainer's `log`, whose summary at the end divides the whole run's steps by the last part's time."""
        if "train_runtime" in logs:
            part = logs["train_runtime"]
            logs["train_runtime"] = round(self._seconds + part, 4)
            for name in logs.keys() & {"train_samples_per_second", "train_steps_per_second"}:
                logs[name] = round(logs[name] * part / logs["train_runtime"], 3)
        log(logs, *args)
