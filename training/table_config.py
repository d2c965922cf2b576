"""What the two methods that train on a response table, SFT and DPO, can be told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from trl import DPOConfig, SFTConfig

from data.errors import UserError
from data.settings import setting
from training.batches import check_examples, fit_batch
from training.config import CommonArguments

_RESPONSES = "A finished run's folder, a folder of parquet parts or one part; several are a mix."
_PER_STEP = {"help": "Examples per optimizer step over all processes; sets gradient_accumulation_steps."}
_LOGGED = {"help": "Training examples shown in a W&B table when the run starts."}


@dataclass
class TableArguments(CommonArguments):
    """What SFT and DPO choose from.

    Args:
        responses: Finished runs of any task, or response tables; several are a mix.
    """

    # What it holds is compared, not where it is.
    responses: list[str] | None = setting(None, _RESPONSES, decides=False)  # noqa: RUF009

    def __post_init__(self) -> None:
        if isinstance(self.responses, str):
            self.responses = [self.responses]

    def check(self, training: Any) -> None:
        """Refuse a missing table."""
        if not self.responses:
            raise UserError("responses is missing: --responses DIR, a folder that recipes/sample_dat.py wrote")


@dataclass
class SftArguments(TableArguments):
    """The data of SFT (paper, section 5.1.1).

    Args:
        responses: The paper's table holds 131,072 responses of random nouns.
        top_k: How many of the highest-scoring responses to imitate (the paper: 16,384); each prompt gives its share.
        examples_logged: Of these, how many W&B shows.
    """

    top_k: int = field(default=16384, metadata={"help": "How many of the highest-scoring responses to imitate."})
    examples_logged: int = field(default=8, metadata=_LOGGED)

    def check(self, training: Any) -> None:
        """Refuse a missing table and an epoch that leaves a batch unfilled."""
        super().check(training)
        check_examples("top_k", self.top_k, training)


@dataclass
class DpoArguments(TableArguments):
    """The data of DPO (paper, section 5.1.2).

    Args:
        responses: The paper's table holds 131,072 responses of the model that is trained.
        num_pairs: The highest-scoring so many are chosen, the lowest-scoring so many rejected (the paper: 16,384); each
            prompt gives its share, and both answer it.
        examples_logged: Of these pairs, how many W&B shows.
    """

    num_pairs: int = field(default=16384, metadata={"help": "Pairs of a high-scoring and a low-scoring response."})
    examples_logged: int = field(default=8, metadata=_LOGGED)

    def check(self, training: Any) -> None:
        """Refuse a missing table and an epoch that leaves a batch unfilled."""
        super().check(training)
        check_examples("num_pairs", self.num_pairs, training)


@dataclass
class SftSettings(SFTConfig):
    """TRL's SFTConfig with one more field.

    Args:
        examples_per_step: Examples per optimizer step over all processes (the paper: 256).
    """

    examples_per_step: int | None = field(default=None, metadata=_PER_STEP)

    def __post_init__(self) -> None:
        fit_batch(self, "examples_per_step")
        super().__post_init__()


@dataclass
class DpoSettings(DPOConfig):
    """TRL's DPOConfig with one more field.

    Args:
        examples_per_step: Pairs per optimizer step over all processes (the paper: 256).
    """

    examples_per_step: int | None = field(default=None, metadata=_PER_STEP)

    def __post_init__(self) -> None:
        fit_batch(self, "examples_per_step")
        super().__post_init__()
