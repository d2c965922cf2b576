"""What a run shows and leaves: console, W&B (online or offline), and what a checkpoint needs to resume exactly."""

import logging
import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm
from transformers import ProgressCallback, TrainerCallback
from transformers.integrations import TensorBoardCallback
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from sozo.data.checkpoints import Digests, older, sizes, unmark
from sozo.data.preemption import note_sigterm, sigterm_came
from sozo.data.processes import gather, wait
from sozo.data.record import check_room, read_json, write_json
from sozo.data.wandb_run import write_state
from sozo.rewards.reward import Reward
from sozo.training.batches import steps_of_generation

logger = logging.getLogger(__name__)

# Name, key and format of what the console shows; what a run's rewards show stands between reward and time.
_TIME = ("s/step", "step_time", ".2f")
_SFT = (("loss", "loss", ".4f"), ("token accuracy", "mean_token_accuracy", "6.1%"))
_DPO = (
    ("pairs in order", "rewards/accuracies", "6.1%"),
    ("margin", "rewards/margins", "7.4f"),
)
_SHOWN = 8  # completions, with each logging step
UNPAID_STEPS = (
    10  # logged, in a row, in which every reward was 0: a run that will learn nothing
)


class RunRecorder(TrainerCallback):
    """Completes each checkpoint with the rewards' states and W&B run, prints a line, logs completions to W&B.

    `tasks` are what is trained on, as the line names it.

    GRPO of which every reward was 0 in ten logged steps in a row ends behind a checkpoint, and `in_vain`. A run ends
    behind one and is `preempted` at the end of the optimizer step in which any process got a SIGTERM; GRPO goes on
    until a generation ends, from where alone it resumes as it was.
    With each logging step eight completions of each reward of sozo's go into the table `PREFIX/completions`. What
    `keeps` a state beside the rewards has `state` and `restore` as they do.
    """

    needed = 0  # bytes that a checkpoint takes
    kept: int | None = (
        None  # checkpoints; older ones are removed once a new one is whole
    )
    in_vain = False  # whether the run ends since nothing was paid
    preempted = False  # whether it ends for now

    def __init__(
        self,
        rewards: Sequence[Any] = (),
        keeps: Any = None,
        tasks: Sequence[str] = (),
    ) -> None:
        self._rewards = [reward for reward in rewards if isinstance(reward, Reward)]
        holders = [*self._rewards, keeps] if keeps else self._rewards
        self._states = {
            f"state_{number}.json": holder for number, holder in enumerate(holders)
        }
        self._tables: dict[str, Any] = {}
        self._unpaid = set[str]()  # rewards of which that was said
        self._tasks = ", ".join(dict.fromkeys(tasks))
        self._began = (0, 0.0)  # at which step and when this process began to train
        self.digests = Digests()
        self.passed_over = set[
            Path
        ]()  # damaged: they do not count as kept, and the run went on from one before

    def on_train_begin(
        self, args: Any, state: Any, control: Any, **kwargs: Any
    ) -> None:
        """From here on there is something to save when a SIGTERM comes; a run that goes on says from where."""
        note_sigterm()
        self._began = state.global_step, time.monotonic()
        if args.warmup_steps > state.max_steps and state.is_world_process_zero:
            logger.warning(
                "warmup_steps %g are more than the run's %d steps: it never comes to its learning_rate",
                args.warmup_steps,
                state.max_steps,
            )
        if state.global_step and state.is_world_process_zero:
            steps = f"step {state.global_step}/{state.max_steps}"
            tqdm.write(f"continued from {_checkpoint(args, state).name}, {steps}")

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """End a preempted run, unless this was its last step; prepare for the checkpoint that may follow."""
        resumes_here = state.global_step % steps_of_generation(args) == 0
        # A signal reaches processes at different steps.
        if (
            resumes_here
            and state.global_step < state.max_steps
            and any(gather(sigterm_came()))
        ):
            self.preempted = control.should_training_stop = control.should_save = True
            args.save_only_model = False  # no run can go on from that
        self._before_save(args, state, control)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Prepare for the checkpoint that may follow; that of a preempted run is written."""
        control.should_save &= not self.preempted
        self._before_save(args, state, control)

    def _before_save(self, args: Any, state: Any, control: Any) -> None:
        """Look for room before the trainer writes a checkpoint; of older ones, which may be removed, read no more."""
        if control.should_save:
            check_room(Path(args.output_dir), self.needed)
            self.digests.stop()
            wait()
            if state.is_world_process_zero:
                unmark(_checkpoint(args, state))

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Complete the checkpoint that the trainer has just written, and mark it."""
        wait()  # every process has written its part of the checkpoint
        checkpoint = _checkpoint(args, state)
        files = {}
        if state.is_world_process_zero:
            for name, holder in self._states.items():
                write_json(checkpoint / name, holder.state())
            files = sizes(checkpoint)
            write_state(checkpoint, wandb_run(), files)
            self.passed_over = self.passed_over - {checkpoint}
            for old in (
                older(checkpoint, self.kept, self.passed_over) if self.kept else ()
            ):
                shutil.rmtree(old, ignore_errors=True)
        self.digests.start(checkpoint, gather(files)[0])

    def restore(self, checkpoint: Path) -> None:
        """Continue with the states saved in `checkpoint`; every process must do so."""
        for name, holder in self._states.items():
            holder.restore(read_json(checkpoint / name))

    def on_log(
        self,
        args: Any,
        state: Any,
        control: Any,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Print one short line instead of TRL's thirty numbers; W&B, which has them all, gets completions."""
        last = [entry for entry in state.log_history if "reward" in entry][
            -UNPAID_STEPS:
        ]
        if (
            "train_runtime"
            not in (logs or {})  # behind the summary nothing is saved any more
            and not self.in_vain
            and len(last) == UNPAID_STEPS
            and not any(entry["reward"] or entry["reward_std"] for entry in last)
        ):
            self.in_vain = control.should_training_stop = True
            control.should_save = args.save_strategy != "no"
            self._before_save(args, state, control)
        if not state.is_world_process_zero or not logs:
            return
        self._warn_unpaid(last)
        if "loss" in logs:  # not the summary at the end
            tqdm.write(self._line(state, logs))  # above a progress bar
        if "reward" in logs and (run := wandb_run()) is not None:
            for reward in self._rewards:
                if reward.last:
                    self._log_completions(run, reward, state.global_step)

    def _warn_unpaid(self, last: Sequence[dict[str, Any]]) -> None:
        """Say once of each reward that ten logged steps in a row gave nothing to learn from it."""
        if len(last) < UNPAID_STEPS:
            return
        for key in last[-1]:
            name = key.removeprefix("rewards/").removesuffix("/mean")
            if key != f"rewards/{name}/mean" or name in self._unpaid:
                continue
            means = [entry.get(key) for entry in last]
            deviations = [entry.get(f"rewards/{name}/std") for entry in last]
            wrong = None
            if all(mean is None or mean != mean for mean in means):
                wrong = "gave no number"
            elif not any(means) and not any(deviations):
                wrong = "was 0 for every answer"
            if wrong:
                self._unpaid.add(name)
                logger.warning(
                    "reward %s %s in %d logged steps in a row, so nothing is learned from it",
                    name,
                    wrong,
                    UNPAID_STEPS,
                )

    def _line(self, state: Any, logs: dict[str, Any]) -> str:
        """What a person reads of a logging step; the time left is by the steps since this process began."""
        shown = [*_SFT, *_DPO]
        if "reward" in logs:
            mine = [column for reward in self._rewards for column in reward.console]
            shown = [*_of_functions(logs), *dict.fromkeys(mine), _TIME]
        parts = [
            f"{name} {logs[key]:{form}}"
            for name, key, form in shown
            if logs.get(key) is not None
        ]
        first, began = self._began
        pace = (time.monotonic() - began) / max(state.global_step - first, 1)
        left = tqdm.format_interval(pace * (state.max_steps - state.global_step))
        step = f"step {state.global_step:>5}/{state.max_steps}"
        return "  ".join(filter(None, [step, self._tasks, *parts, f"{left} left"]))

    def _log_completions(self, run: Any, reward: Reward, step: int) -> None:
        import wandb

        if reward.prefix not in self._tables:
            columns = ["step", "text", *reward.columns(reward.last[0]), "reward"]
            self._tables[reward.prefix] = wandb.Table(
                columns=columns, log_mode="INCREMENTAL", allow_mixed_types=True
            )
        table = self._tables[reward.prefix]
        for completion in reward.last[:_SHOWN]:
            table.add_data(
                step,
                completion.text,
                *reward.columns(completion).values(),
                completion.reward,
            )
        log: dict[str, Any] = {
            f"{reward.prefix}/completions": table,
            "train/global_step": step,
        }
        if scores := [
            completion.score
            for completion in reward.last
            if completion.score is not None
        ]:
            log[f"{reward.prefix}/scores"] = wandb.Histogram(scores)
        run.log(log)


def _of_functions(logs: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Of GRPO the mean reward of each function by its name, as TRL logs it; of several their sum before them."""
    named = [
        (key.removeprefix("rewards/").removesuffix("/mean"), key, ".3f")
        for key in logs
        if key.startswith("rewards/") and key.endswith("/mean")
    ]
    return [("reward", "reward", ".3f")] * (len(named) > 1) + named


def _checkpoint(args: Any, state: Any) -> Path:
    """The checkpoint of this step."""
    return Path(args.output_dir) / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}"


def saved_bytes(trainer: Any, *, states: bool) -> int:
    """At least so many bytes do the trained weights take when saved; with `states` beside the optimizer's."""
    states &= (
        trainer.args.optim.startswith("adamw_torch")
        and not trainer.args.save_only_model
    )
    trained = (weight for weight in trainer.model.parameters() if weight.requires_grad)
    # ZeRO-3 keeps a part of each weight here.
    sizes = [
        (getattr(weight, "ds_numel", weight.numel()), weight.element_size())
        for weight in trained
    ]
    # Two moments; DeepSpeed's are float32, as are the weights beside them.
    return sum(
        count * (size + states * (12 if trainer.is_deepspeed_enabled else 2 * size))
        for count, size in sizes
    )


class BarOnly(ProgressCallback):
    """The trainer's progress bar without its log lines: `RunRecorder` prints."""

    def on_log(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""


class _TensorBoard(TensorBoardCallback):
    """transformers' own without a warning for each value that a step does not have, as that of a mix's other tasks."""

    def on_log(
        self,
        args: Any,
        state: Any,
        control: Any,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Write what has a value."""
        known = {k: value for k, value in (logs or {}).items() if value is not None}
        super().on_log(args, state, control, logs=known, **kwargs)


def start_tensorboard(trainer: Any, step: int) -> None:
    """Let a run, begun or continued behind `step`, write into one folder of TensorBoard, `runs` in the output folder.

    What an earlier launch wrote of later steps is no longer shown.
    """
    from torch.utils.tensorboard import SummaryWriter

    folder = os.environ.get(
        "TENSORBOARD_LOGGING_DIR", str(Path(trainer.args.output_dir) / "runs")
    )
    trainer.remove_callback(TensorBoardCallback)
    trainer.add_callback(_TensorBoard(SummaryWriter(folder, purge_step=step + 1)))


def wandb_run() -> Any:
    """The W&B run under way in this process; None if there is none."""
    return getattr(sys.modules.get("wandb"), "run", None)
