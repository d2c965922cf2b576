"""What a run that goes on takes from its checkpoint beside what transformers does: sums, and what processes share."""

import json
import logging
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

logger = logging.getLogger(__name__)
_SUMS = "sums.json"
_ANOTHER = "or give another output folder"
_ZERO = "DeepSpeed ZeRO-1 or 2"
_ZERO_3 = "DeepSpeed ZeRO-3"


class Sums(TrainerCallback):
    """Keeps in each checkpoint what transformers and TRL sum up over a run, and goes on with it.

    So what is logged, `train_loss` and `train_runtime` are the whole run's, as if nothing had interrupted it. It stands
    before the callback that completes a checkpoint; `trainer` must be set before training starts.
    """

    trainer: Any = None

    def __init__(
        self, checkpoint: Path | None, sampler: str | None, training: Any
    ) -> None:
        # A checkpoint of an earlier version has none, which its check has said.
        kept = checkpoint is not None and (checkpoint / _SUMS).is_file()
        self._before: dict[str, Any] = (
            read_json(checkpoint / _SUMS, nan=True) if checkpoint and kept else {}
        )
        self._seconds = self._before.get("seconds", 0.0)  # of training, until it began
        self._began = 0.0
        size = training.per_device_train_batch_size
        now = world_size()
        processes = len(self._before.get("processes", [None] * now))
        micro = self._before.get("micro_batch", size)
        if checkpoint:
            _refuse_other_shards(checkpoint, processes, training)
        self._changed = []
        if processes != now:
            self._changed.append(f"{now} process(es) after {processes}")
        if micro != size:
            self._changed.append(f"per_device_train_batch_size {size} after {micro}")
        others = processes != now
        self._other = (
            _other_than_unbroken(sampler, training, other_processes=others)
            if self._changed
            else ""
        )

    def on_train_begin(
        self, args: Any, state: Any, control: Any, **kwargs: Any
    ) -> None:
        """Put the sums of the checkpoint in the place of the zeros with which transformers begins."""
        self._began = time.monotonic()
        trainer = self.trainer
        trainer.log = partial(self._log, trainer.log)
        if self._changed and trainer.aux_loss_enabled:
            raise UserError(
                f"the run would go on with {', '.join(self._changed)}, but this model balances its experts by a loss "
                f"over each micro-batch; launch as before, {_ANOTHER}"
            )
        if self._changed and state.is_world_process_zero:
            logger.warning(
                "%s: goes on with %s: %s",
                args.output_dir,
                ", ".join(self._changed),
                self._other,
            )
        if state.global_step >= state.max_steps:
            # transformers looks at this behind a step only, and would train another one.
            trainer._run_epoch = lambda **_: None
        if not self._before:
            return
        processes = self._before["processes"]
        mine = processes[args.process_index % len(processes)]
        if len(processes) != args.world_size:
            mine["loss"] = sum(process["loss"] for process in processes) / len(
                processes
            )
            # For processes whose random state nobody saved: that of their first step would draw the same again.
            random = np.random.SeedSequence(
                [args.seed, state.global_step, args.process_index]
            )
            set_seed(int(random.generate_state(1)[0]))
        trainer._total_loss_scalar = self._before["loss"]
        trainer._globalstep_last_logged = self._before["logged"]
        trainer._initial_global_step = 0  # the step from which on losses are summed
        trainer._tr_loss += mine["loss"]
        trainer._metrics["train"].update(mine["metrics"])
        trainer._total_train_tokens = self._before["tokens"]

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Write the sums into the checkpoint that the trainer has just written."""
        trainer = self.trainer
        processes = gather(
            {"loss": trainer._tr_loss.item(), "metrics": trainer._metrics["train"]}
        )
        if state.is_world_process_zero:
            sums = {
                "seconds": self._seconds + time.monotonic() - self._began,
                "loss": trainer._total_loss_scalar,  # of the steps up to `logged`; each process has the rest
                "logged": trainer._globalstep_last_logged,
                "tokens": getattr(trainer, "_total_train_tokens", 0),
                "micro_batch": args.per_device_train_batch_size,
                "processes": processes,
            }
            checkpoint = (
                Path(args.output_dir) / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}"
            )
            write_whole(
                checkpoint / _SUMS, json.dumps(sums).encode()
            )  # a metric may be NaN

    def _log(self, log: Any, logs: dict[str, Any], *args: Any) -> None:
        """The trainer's `log`; the summary at the end becomes the whole run's, and that of all processes."""
        if "train_runtime" in logs:
            # transformers takes what no log holds yet of the first process only, and the time since the run went on.
            loss = self.trainer._tr_loss.item()
            part = logs["train_runtime"]
            losses = gather(loss)
            logs["train_loss"] += (sum(losses) / len(losses) - loss) / max(
                self.trainer.state.global_step, 1
            )
            logs["train_runtime"] = round(self._seconds + part, 4)
            for name in logs.keys() & {
                "train_samples_per_second",
                "train_steps_per_second",
            }:
                logs[name] = round(logs[name] * part / logs["train_runtime"], 3)
        log(logs, *args)


def load_as_saved(trainer: Any, checkpoint: Path) -> None:
    """Let the trainer load a checkpoint's weights as its model saved them, where transformers only warns.

    A model of experts is trained under other names than it is saved by. transformers' trainer leaves out what does not
    fit by name, so that these weights would begin anew.
    """

    def check(found: Any) -> None:
        model = trainer.model
        if not (
            found.unexpected_keys
            or set(found.missing_keys) - model.all_tied_weights_keys.keys()
        ):
            return
        saved, report = type(model).from_pretrained(
            checkpoint, dtype=model.dtype, output_loading_info=True
        )
        if (
            report["missing_keys"]
            or report["unexpected_keys"]
            or report["mismatched_keys"]
        ):
            raise UserError(
                f"{checkpoint}: its weights do not fit the model; launch as before, {_ANOTHER}"
            )
        model.load_state_dict(saved.state_dict())

    trainer._issue_warnings_after_load = check


def _refuse_other_shards(checkpoint: Path, processes: int, training: Any) -> None:
    """Refuse an optimizer's state that was saved in another way, or by other `processes`, than it will be read."""
    before = _saved_by(checkpoint)
    plugin = training.deepspeed_plugin
    fsdp = training.fsdp or parse_flag_from_env("ACCELERATE_USE_FSDP")
    now = "FSDP" if fsdp else None
    if plugin is not None:
        now = _ZERO_3 if plugin.zero_stage == 3 else _ZERO
    if before != now:
        how = [
            f"under {name}" if name else "without DeepSpeed or FSDP"
            for name in (before, now)
        ]
        raise UserError(
            f"{checkpoint}: its optimizer was saved {how[0]} and cannot be read {how[1]}; launch as before, {_ANOTHER}"
        )
    if now and processes != world_size():
        raise UserError(
            f"{checkpoint}: {now} saved its optimizer in parts for {processes} process(es), but now there are "
            f"{world_size()}; launch {processes}, {_ANOTHER}"
        )


def _other_than_unbroken(
    sampler: str | None, training: Any, *, other_processes: bool
) -> str:
    """What other micro-batches, and `other_processes`, change and what not."""
    others = ["sums are rounded otherwise", "means over micro-batches are of others"]
    if sampler:
        if other_processes and sampler != "shared_prefix":
            others.append(f"{sampler} draws other completions")
        if (
            other_processes
            and training.steps_per_generation > training.gradient_accumulation_steps
        ):
            others.append("a generation's completions are dealt otherwise to its steps")
    what = "prompts" if sampler else "examples"
    return f"each step has the same {what}, but {', '.join(others)}, and dropout, if there is any, drops others"


def _saved_by(checkpoint: Path) -> str | None:
    """What cut the optimizer of a checkpoint into parts; None if it is whole."""
    if any(checkpoint.glob("global_step*")):
        return (
            _ZERO_3
            if any(checkpoint.glob("global_step*/zero_pp_rank_*_model_states.pt"))
            else _ZERO
        )
    of_fsdp = (checkpoint / name for name in ("optimizer.bin", "optimizer_0"))
    return "FSDP" if any(path.exists() for path in of_fsdp) else None
