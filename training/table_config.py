"""What the two methods that train on response tables, SFT and DPO, can be told."""

from dataclasses import dataclass
from typing import Any, ClassVar

from trl import DPOConfig, SFTConfig

from data.errors import UserError
from data.settings import setting
from training.batches import check_examples, fit_batch
from training.config import CommonArguments


@dataclass
class TableArguments(CommonArguments):
    """What SFT and DPO choose from: finished runs of any task, or tables of DAT responses."""

    count: ClassVar[str]
    responses: list[str] | None = setting(  # noqa: RUF009
        None,
        "A finished run's folder, a folder of parquet parts or one part; several are a mix.",
        decides=False,  # what it holds is compared, not where it is
    )

    def __post_init__(self) -> None:
        if isinstance(self.responses, str):
            self.responses = [self.responses]

    def check(self, training: Any) -> None:
        """Refuse a missing table and an epoch that leaves a batch unfilled."""
        if not self.responses:
            raise UserError("responses is missing: --responses DIR, a folder that recipes/sample_dat.py wrote")
        check_examples(self.count, getattr(self, self.count), training)


@dataclass
class SftArguments(TableArguments):
    """The data of SFT (paper, section 5.1.1: the best 16,384 of 131,072 responses of random nouns)."""

    count = "top_k"
    top_k: int = setting(16384, "How many of the highest-scoring responses to imitate; each prompt gives its share.")
    examples_logged: int = setting(8, "Training examples shown in a W&B table when the run starts.")


@dataclass
class DpoArguments(TableArguments):
    """The data of DPO (paper, section 5.1.2: the best and the worst 16,384 of 131,072 of the model itself)."""

    count = "num_pairs"
    num_pairs: int = setting(16384, "Pairs of a high- and a low-scoring response to a prompt; each gives its share.")
    examples_logged: int = setting(8, "Training examples shown in a W&B table when the run starts.")


@dataclass
class _PerStep:
    """TRL's configuration with one more field (the paper: 256)."""

    examples_per_step: int | None = setting(
        None, "Examples per optimizer step over all processes; sets gradient_accumulation_steps."
    )

    def __post_init__(self) -> None:
        fit_batch(self, "examples_per_step")
        super().__post_init__()  # type: ignore[misc]


@dataclass
class SftSettings(_PerStep, SFTConfig):
    """TRL's SFTConfig with `examples_per_step`."""


@dataclass
class DpoSettings(_PerStep, DPOConfig):
    """TRL's DPOConfig with `examples_per_step`."""
