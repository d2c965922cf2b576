"""What a run shows and leaves: a line for each logging step, and what a checkpoint needs to resume exactly."""

import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm
from transformers import TrainerCallback
from transformers.integrations import TensorBoardCallback
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from sozo.data.checkpoints import Digests, older, sizes, unmark
from sozo.data.errors import UserError
from sozo.data.preemption import note_sigterm, sigterm_came
from sozo.data.processes import gather, wait
from sozo.data.record import read_json, write_json
from sozo.data.settings import load_dotted
from sozo.data.wandb_run import write_state
from sozo.rewards.reward import Reward
from sozo.training.batches import steps_of_generation

_SHOWN = "loss", "reward"
# Logged, in a row, in which every reward was 0: a run that will learn nothing.
UNPAID_STEPS = 10


def callback_at(path: str) -> TrainerCallback:
    """One of a user's own, by the dotted path of its class."""
    kind = load_dotted(path, "callback")
    if isinstance(kind, type) and issubclass(kind, TrainerCallback):
        return kind()
    raise UserError(
        f"callback {path}: is no class of transformers.TrainerCallback; give one"
    )


class RunRecorder(TrainerCallback):
    """Completes each checkpoint with the rewards' states and W&B run, and prints a line for each logging step.

    GRPO of which every reward was 0 in ten logged steps in a row ends, `in_vain`. A run ends behind a checkpoint and is
    `preempted` at the end of the optimizer step in which any process got a SIGTERM; GRPO goes on until a generation
    ends, from where alone it resumes as it was.
    """

    # Checkpoints that stay; older ones are removed once a new one is whole.
    kept: int | None = None
    in_vain = False  # whether the run ends since nothing was paid
    preempted = False  # whether it ends for now
    _began = 0.0, 0  # seconds by a clock of its own, and the step

    def __init__(self, rewards: Sequence[Any] = ()) -> None:
        ours = [reward for reward in rewards if isinstance(reward, Reward)]
        self._states = {f"state_{n}.json": holder for n, holder in enumerate(ours)}
        self._shown = {*_SHOWN, *(key for one in ours for _, key, _ in one.console)}
        self.digests = Digests()
        # Damaged: they do not count as kept, and the run went on from one before.
        self.passed_over = set[Path]()

    def on_train_begin(
        self, args: Any, state: Any, control: Any, **kwargs: Any
    ) -> None:
        """From here on there is something to save when a SIGTERM comes; a run that goes on says from where."""
        note_sigterm()
        self._began = time.monotonic(), state.global_step
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
        """Of older checkpoints, which may be removed, read no more."""
        if control.should_save:
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
            self.passed_over -= {checkpoint}
            if self.kept:
                for old in older(checkpoint, self.kept, self.passed_over):
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
        """Print one short line instead of TRL's thirty numbers; end a run in which nothing is paid."""
        last = [entry for entry in state.log_history if "reward" in entry]
        last = last[-UNPAID_STEPS:]
        if len(last) == UNPAID_STEPS and not any(
            entry["reward"] or entry["reward_std"] for entry in last
        ):
            self.in_vain = control.should_training_stop = True
        parts = [f"step {state.global_step:>5}/{state.max_steps}"]
        for name, value in (logs or {}).items():
            of_reward = name.startswith("rewards/") and not name.endswith("/std")
            if of_reward or name.startswith("eval_") or name in self._shown:
                parts += [f"{name} {value:.4g}"] if value is not None else ()
        # The summary at the end has none of these.
        if state.is_world_process_zero and len(parts) > 1:
            at, first = self._began
            if done := state.global_step - first:
                left = (state.max_steps - state.global_step) / done
                left *= time.monotonic() - at
                parts.append(f"{tqdm.format_interval(left)} left")
            tqdm.write("  ".join(parts))


def _checkpoint(args: Any, state: Any) -> Path:
    """The checkpoint of this step."""
    return Path(args.output_dir) / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}"


def start_tensorboard(trainer: Any, step: int) -> None:
    """Let a run, begun or continued behind `step`, write into one folder of TensorBoard, `runs` in the output folder.

    What an earlier launch wrote of later steps is no longer shown.
    """
    from torch.utils.tensorboard import SummaryWriter

    folder = os.environ.get(
        "TENSORBOARD_LOGGING_DIR", str(Path(trainer.args.output_dir) / "runs")
    )
    trainer.remove_callback(TensorBoardCallback)
    writer = SummaryWriter(folder, purge_step=step + 1)
    trainer.add_callback(TensorBoardCallback(writer))


def wandb_run() -> Any:
    """The W&B run under way in this process; None if there is none."""
    return getattr(sys.modules.get("wandb"), "run", None)
