"""SFT on the best answers of a table, DPO on the best and the worst (paper, sections 5.1.1 and 5.1.2), through TRL.

SFT's loss is on the answer only. DPO's second stage is the same with another model and its fresh answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from tqdm import tqdm
from trl import DPOConfig, ModelConfig, SFTConfig

from sozo.data.errors import UserError
from sozo.data.prompts.form import PromptForm
from sozo.data.settings import setting
from sozo.models.model_support import encode_text
from sozo.models.trained_on import of_answers
from sozo.tasks import Dat, read_run
from sozo.training.batches import check_examples, fit_batch
from sozo.training.config import CommonArguments
from sozo.training.run import stored_dataset, train
from sozo.training.selection import (
    check_rule,
    select_pairs,
    select_top,
    training_rows,
)


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
                "answers is missing: --answers DIR, a folder that recipes/sample_dat.py wrote"
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

    def check(self, training: Any) -> None:
        """Refuse besides a rule of pairs that there is not."""
        super().check(training)
        check_rule(self.pairs)


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


def cut_examples(
    training: Any, tokenizer: Any, form: PromptForm, window: int | None
) -> None:
    """Cut examples, which TRL does at `max_length`, at the model's window at the latest; refuse a form that it lacks."""
    encode_text(tokenizer, "", form)
    for name in ("eos_token", "pad_token"):
        token = getattr(training, name, None)
        if token and token not in tokenizer.get_vocab():
            raise UserError(
                f"{name} {token}: the tokenizer has no such token; leave it out"
            )
    training.max_length = min(filter(None, (training.max_length, window)), default=None)


def train_sft(script: SftArguments, training: SftSettings, model: ModelConfig) -> Path:
    """Imitate the `top_k` best answers of a table; return the folder of the trained model (see `run.train`)."""
    answers = script.answers or ()
    top = select_top(answers, script.top_k)
    if training.process_index == 0:
        tqdm.write(f"SFT on {top.summary()}")

    def build(tokenizer: Any, form: PromptForm, common: dict[str, Any]) -> Any:
        from trl import SFTTrainer

        rows = training_rows(
            {"completion": top}, conversational=bool(tokenizer.chat_template), form=form
        )
        common["train_dataset"] = stored_dataset(rows, training)
        if script.word_targets:
            from sozo.training.word_targets import (
                LISTED,
                WordTargetTrainer,
                word_targets,
            )

            listed = [
                task == Dat.name for task in top.tasks
            ]  # not among the rows: a run may have stored them before
            common["train_dataset"] = common["train_dataset"].add_column(LISTED, listed)
            return WordTargetTrainer(
                word_targets=word_targets(answers, tokenizer), **common
            )
        return SFTTrainer(**common)

    shown = list(zip(top.texts, top.scores.tolist(), strict=True))[
        : script.examples_logged
    ]
    examples = ("data/answers", ("text", "score"), shown)
    facts, sources = (
        {"selection": top.facts()},
        _sources(answers, "sft", chosen=len(top.ids) < top.of),
    )
    return train(
        script,
        training,
        model,
        build,
        fit=partial(cut_examples, training),
        facts=facts,
        sources=sources,
        examples=examples,
    )


def train_dpo(script: DpoArguments, training: DpoSettings, model: ModelConfig) -> Path:
    """Prefer the best `num_pairs` answers to the worst, by the rule `pairs` and the seed; see `train_sft`."""
    pairs = select_pairs(
        script.answers or (), script.num_pairs, seed=training.seed, rule=script.pairs
    )
    if training.process_index == 0:
        for name, selected in pairs._asdict().items():
            tqdm.write(f"DPO, {name}: {selected.summary()}")

    def build(tokenizer: Any, form: PromptForm, common: dict[str, Any]) -> Any:
        rows = training_rows(
            pairs._asdict(), conversational=bool(tokenizer.chat_template), form=form
        )
        return reference_trainer(script.share_prompt)(
            train_dataset=stored_dataset(rows, training), **common
        )

    good, bad = pairs
    shown = list(
        zip(
            good.texts,
            good.scores.tolist(),
            bad.texts,
            bad.scores.tolist(),
            strict=True,
        )
    )
    columns = ("chosen", "chosen score", "rejected", "rejected score")
    examples = ("data/pairs", columns, shown[: script.examples_logged])
    facts = {
        "selection": {
            name: selected.facts() for name, selected in pairs._asdict().items()
        }
    }
    sources = _sources(script.answers or (), "dpo", chosen=True)
    return train(
        script,
        training,
        model,
        build,
        fit=partial(cut_examples, training),
        facts=facts,
        sources=sources,
        examples=examples,
    )


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
