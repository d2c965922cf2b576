"""What a run shows and leaves: console, W&B (online or offline), and what a checkpoint needs to resume exactly.

The files of ours in a checkpoint are written last, so their presence says that the checkpoint is whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm
from transformers import ProgressCallback, TrainerCallback
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from data.processes import wait
from data.wandb_run import write_state
from rewards.reward import Reward

# Name, key and format of what `ConsoleLines` prints; what a run's rewards show stands between reward and time.
_REWARD, _TIME = ("reward", "reward", "6.3f"), ("s/step", "step_time", ".2f")
_SHOWN_TABLE = (
    ("loss", "loss", ".4f"),
    ("token accuracy", "mean_token_accuracy", "6.1%"),
    ("pairs in order", "rewards/accuracies", "6.1%"),
    ("margin", "rewards/margins", "7.4f"),
)


@dataclass(frozen=True)
class Examples:
    """A few training examples for W&B: the table's name, its columns and its rows."""

    name: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]

    def show(self) -> None:
        """Log the table to the W&B run."""
        import wandb

        wandb.log({self.name: wandb.Table(columns=list(self.columns), data=[list(row) for row in self.rows])})


class RunRecorder(TrainerCallback):
    """Saves the duplicate histories and the W&B run with each checkpoint, and logs sampled completions to W&B.

    Args:
        rewards: The run's reward functions; those that are sozo's have a history and completions to show.
        completions_logged: Rows per logging step in the tables `PREFIX/completions`, which keep all steps.
    """

    def __init__(self, rewards: Sequence[Any] = (), completions_logged: int = 0) -> None:
        self._rewards = [reward for reward in rewards if isinstance(reward, Reward)]
        self._completions_logged = completions_logged
        self._tables: dict[str, Any] = {}

    @property
    def console(self) -> Sequence[tuple[str, str, str]]:
        """Name, key and format of what a line per logging step shows."""
        return [_REWARD, *dict.fromkeys(shown for reward in self._rewards for shown in reward.console), _TIME]

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Complete the checkpoint that the trainer has just written."""
        wait()  # every process has written its part of the checkpoint
        if not state.is_world_process_zero:
            return
        checkpoint = Path(args.output_dir) / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}"
        for number, reward in enumerate(self._rewards):
            reward.seen.save(checkpoint / f"seen_responses_{number}.bin")
        write_state(checkpoint, wandb_run())

    def restore(self, checkpoint: Path) -> None:
        """Continue with the duplicate history saved in `checkpoint`; every process must do so."""
        for number, reward in enumerate(self._rewards):
            reward.seen.load(checkpoint / f"seen_responses_{number}.bin")

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Log sampled completions and a histogram of the scores of the latest batch."""
        run = wandb_run()
        # The summary at the end has no reward, and its batch has been logged.
        if run is None or not state.is_world_process_zero or "reward" not in (logs or {}):
            return
        import wandb

        for reward in self._rewards:
            if not reward.last:
                continue
            table = self._tables.get(reward.prefix)
            if table is None:
                columns = ["step", "text", *reward.shown(reward.last[0]), "reward"]
                table = wandb.Table(columns=columns, log_mode="INCREMENTAL", allow_mixed_types=True)
                self._tables[reward.prefix] = table
            for completion in reward.last[: self._completions_logged]:
                shown = reward.shown(completion).values()
                table.add_data(state.global_step, completion.text, *shown, completion.reward)
            scores = [completion.score for completion in reward.last if completion.score is not None]
            log: dict[str, Any] = {f"{reward.prefix}/completions": table, "train/global_step": state.global_step}
            if scores:
                log[f"{reward.prefix}/scores"] = wandb.Histogram(scores)
            run.log(log)


class BarOnly(ProgressCallback):
    """The trainer's progress bar without its log lines."""

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Nothing: `ConsoleLines` prints."""


class ConsoleLines(TrainerCallback):
    """One short line per logging step instead of TRL's thirty numbers, of any method; W&B has them all."""

    def __init__(self, shown: Sequence[tuple[str, str, str]]) -> None:
        self._shown = shown

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Print the line."""
        if not state.is_world_process_zero or not logs or "loss" not in logs:
            return  # such as the summary at the end
        shown = self._shown if "reward" in logs else _SHOWN_TABLE
        parts = [f"{name} {logs[key]:{form}}" for name, key, form in shown if logs.get(key) is not None]
        say(f"step {state.global_step:>5}/{state.max_steps}  " + "  ".join(parts))


def say(line: str) -> None:
    """Print a line for people, above the progress bar if there is one."""
    tqdm.write(line)


def wandb_run() -> Any:
    """The W&B run under way in this process; None if there is none."""
    try:
        import wandb
    except ModuleNotFoundError:
        return None
    return wandb.run
