"""SFT on the best answers of a table, DPO on the best and the worst (paper, sections 5.1.1 and 5.1.2), through TRL.

SFT's loss is on the answer only. DPO's second stage is the same with another model and its fresh answers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from tqdm import tqdm
from trl import DPOConfig, ModelConfig, SFTConfig

from sozo.data.errors import UserError
from sozo.data.settings import setting
from sozo.models.model_support import encode_text
from sozo.models.trained_on import of_answers
from sozo.tasks import Dat, read_run
from sozo.training.batches import check_examples, fit_batch
from sozo.training.config import CommonArguments
from sozo.training.decided import TrainingRun
from sozo.training.run import stored_dataset, train
from sozo.training.selection import Selected, select_pairs, select_top, training_rows


@dataclass
class TableArguments(CommonArguments):
    """What both can be told: finished runs of any task, or tables of DAT answers."""

    count: ClassVar[str]
    answers: list[str] | None = setting(  # noqa: RUF009
        None,
        "A finished run's folder, a folder of parquet parts or one part; several are a mix.",
        affects_result=False,
    )  # what it holds is compared, not where it is
    examples_logged: int = setting(
        8, "Training examples shown in a W&B table when the run starts."
    )

    def __post_init__(self) -> None:
        if isinstance(self.answers, str):
            self.answers = [self.answers]

    def check(self, training: Any) -> None:
        """Refuse a missing table and an epoch that leaves a batch unfilled."""
        if not self.answers:
            raise UserError(
                "answers is missing: --answers DIR, a folder that sozo dat or sozo run wrote"
            )
        check_examples(self.count, getattr(self, self.count), training)


@dataclass
class SftArguments(TableArguments):
    """The data of SFT (the paper: the best 16,384 of 131,072 answers of random nouns)."""

    count = "top_k"
    top_k: int = setting(
        16384,
        "How many of the highest-scoring answers to imitate; each prompt gives its share.",
    )
    word_targets: bool = setting(
        False,
        "The target of a word is what it was drawn from: of a frontier, word by word.",
    )

    def check(self, training: Any) -> None:
        """Refuse besides what joins lists into one row, where none could be told from another."""
        super().check(training)
        if self.word_targets and (training.packing or training.padding_free):
            raise UserError(
                "word_targets needs each answer in a row of its own; take packing and padding_free out"
            )


@dataclass
class DpoArguments(TableArguments):
    """The data of DPO (the paper: the best and the worst 16,384 of 131,072 of the model itself)."""

    count = "num_pairs"
    num_pairs: int = setting(
        16384,
        "Pairs of a high- and a low-scoring answer to a prompt; each gives its share.",
    )
    pairs: str = setting(
        "paper",
        "paper; of usable answers only: usable, matched (words), divpo (rare, common).",
    )


@dataclass
class _PerStep:
    """TRL's configuration with the examples of a step (the paper: 256), and what GRPO's has already."""

    examples_per_step: int | None = setting(
        None,
        "Examples per optimizer step over all processes; sets gradient_accumulation_steps.",
    )
    gradient_accumulation_steps: int | None = setting(
        None, "Micro-batches per optimizer step (default: 1)."
    )
    chat_template_kwargs: dict | str | None = setting(  # noqa: RUF009
        None, "Arguments of the chat template (JSON), as GRPO has them."
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


def shorter(limit: int | None, window: int | None) -> int | None:
    """The smaller of two limits, of which None is none."""
    return min(filter(None, (limit, window)), default=None)


class _TableRun(TrainingRun):
    """A training on rows of a table."""

    def fit(self, tokenizer: Any, training: Any, window: int | None) -> None:
        """Cut examples, which TRL does at `max_length`, at the model's window at the latest."""
        encode_text(tokenizer, "", self.form)  # refuses a form that it lacks
        training.max_length = shorter(training.max_length, window)

    def dataset(
        self, tokenizer: Any, training: Any, columns: Mapping[str, Selected]
    ) -> Any:
        """The rows of answers by their columns, stored."""
        conversational = bool(tokenizer.chat_template)
        rows = training_rows(columns, conversational=conversational, form=self.form)
        return stored_dataset(rows, training)


class SftRun(_TableRun):
    """SFT, decided: the answers to imitate."""

    def __init__(
        self, asked: SftArguments, training: SftSettings, model: ModelConfig
    ) -> None:
        """Choose the answers, and say which."""
        self._answers = asked.answers or ()
        self._word_targets = asked.word_targets
        self._top = select_top(self._answers, asked.top_k)
        if training.process_index == 0:
            tqdm.write(f"SFT on {self._top.summary()}")
        rows = zip(self._top.texts, self._top.scores.tolist(), strict=True)
        logged = list(islice(rows, asked.examples_logged))
        self.examples = ("data/answers", ("text", "score"), logged)
        chosen = len(self._top.ids) < self._top.of
        super().__init__(
            asked,
            training,
            model,
            facts={"selection": self._top.facts()},
            sources=_sources(self._answers, "sft", chosen=chosen),
        )

    def build(self, tokenizer: Any, common: dict[str, Any]) -> Any:
        """TRL's trainer, or ours with targets for words."""
        from trl import SFTTrainer

        rows = self.dataset(tokenizer, common["args"], {"completion": self._top})
        if not self._word_targets:
            return SFTTrainer(train_dataset=rows, **common)
        from sozo.training.word_targets import LISTED, WordTargetTrainer, word_targets

        # Not among the rows: a run may have stored them before.
        listed = [task == Dat.name for task in self._top.tasks]
        return WordTargetTrainer(
            word_targets=word_targets(self._answers, tokenizer),
            train_dataset=rows.add_column(LISTED, listed),
            **common,
        )


class DpoRun(_TableRun):
    """DPO, decided: the pairs, by the rule `pairs` and the seed."""

    def __init__(
        self, asked: DpoArguments, training: DpoSettings, model: ModelConfig
    ) -> None:
        """Choose the pairs, and say which."""
        answers = asked.answers or ()
        self._pairs = select_pairs(
            answers, asked.num_pairs, seed=training.seed, rule=asked.pairs
        )
        named = self._pairs._asdict()
        if training.process_index == 0:
            for name, selected in named.items():
                tqdm.write(f"DPO, {name}: {selected.summary()}")
        columns = []
        for selected in self._pairs:
            columns += [selected.texts, selected.scores.tolist()]
        logged = list(islice(zip(*columns, strict=True), asked.examples_logged))
        heads = ("chosen", "chosen score", "rejected", "rejected score")
        self.examples = ("data/pairs", heads, logged)
        facts = {name: selected.facts() for name, selected in named.items()}
        super().__init__(
            asked,
            training,
            model,
            facts={"selection": facts},
            sources=_sources(answers, "dpo", chosen=True),
        )

    def build(self, tokenizer: Any, common: dict[str, Any]) -> Any:
        """TRL's trainer."""
        rows = self.dataset(tokenizer, common["args"], self._pairs._asdict())
        return reference_trainer(self.share_prompt)(train_dataset=rows, **common)


def train_sft(script: SftArguments, training: SftSettings, model: ModelConfig) -> Path:
    """Imitate the `top_k` best answers of a table; return the folder of the trained model (see `run.train`)."""
    return train(SftRun, script, training, model)


def train_dpo(script: DpoArguments, training: DpoSettings, model: ModelConfig) -> Path:
    """Prefer the best `num_pairs` answers to the worst; return the folder of the trained model (see `run.train`)."""
    return train(DpoRun, script, training, model)


def _sources(answers: Sequence[str], by: str, *, chosen: bool) -> list[dict[str, Any]]:
    return [
        source
        for path in answers
        for source in of_answers(read_run(Path(path)), by, chosen=chosen)
    ]


def reference_trainer(shared: bool) -> Any:
    """TRL's DPO trainer, or one whose reference log-probabilities compute each prompt once, as the loss does."""
    from trl import DPOTrainer

    from sozo.training.shared_prompt import share_prompt

    class SharedReferenceTrainer(DPOTrainer):  # type: ignore[misc]
        # TRL computes them before training, inside its constructor: too early for whoever holds the trainer.
        def _precompute_ref_logps(self, *args: Any) -> Any:
            share_prompt(
                self.accelerator.unwrap_model(self.ref_model or self.model), say=False
            )
            return super()._precompute_ref_logps(*args)

    return SharedReferenceTrainer if shared else DPOTrainer
