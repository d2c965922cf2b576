"""SFT on the best answers of a table, DPO on the best and the worst (paper, sections 5.1.1 and 5.1.2), through TRL.

SFT's loss is on the answer only. DPO's second stage is the same with another model and its fresh answers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm
from trl import DPOConfig, ModelConfig, SFTConfig

from sozo.data.errors import UserError
from sozo.data.prompts.form import PromptForm
from sozo.models.model_support import encode_text
from sozo.models.trained_on import of_answers
from sozo.scoring.numbers import n_of
from sozo.tasks import Dat, read_run
from sozo.training.arguments import DpoArguments, SftArguments, TablePerStep
from sozo.training.batches import whole_steps
from sozo.training.decided import TrainingRun
from sozo.training.run import stored_dataset, train
from sozo.training.selection import (
    Selected,
    is_run,
    select_pairs,
    select_top,
    training_rows,
)
from sozo.training.tracking import RunRecorder


@dataclass
class SftSettings(TablePerStep, SFTConfig):
    """TRL's SFTConfig with `examples_per_step`."""


@dataclass
class DpoSettings(TablePerStep, DPOConfig):
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


class _TableRun(TrainingRun):
    """A training on rows of a table."""

    def fit(self, tokenizer: Any, training: Any, window: int | None) -> None:
        """Cut examples, which TRL does at `max_length`, at the model's window at the latest."""
        cut_examples(training, tokenizer, self.form, window)

    def dataset(
        self, tokenizer: Any, training: Any, columns: Mapping[str, Selected]
    ) -> Any:
        """The rows of answers by their columns, stored; UserError where `max_length` leaves nothing of any answer."""
        for name, selected in columns.items() if training.max_length else ():
            self._look_for_cut(tokenizer, training, name, selected)
        conversational = bool(tokenizer.chat_template)
        rows = training_rows(columns, conversational=conversational, form=self.form)
        return stored_dataset(rows, training)

    def _look_for_cut(
        self, tokenizer: Any, training: Any, name: str, selected: Selected
    ) -> None:
        """Say how many answers `max_length` cuts, their end token among them."""
        limit, cut = training.max_length, 0
        asked = {
            text: len(encode_text(tokenizer, text, self.form))
            for text in {*selected.prompts}
        }
        if limit <= min(asked.values()):
            raise UserError(
                f"max_length {limit} leaves nothing of any answer behind its prompt; give a larger one"
            )
        answers = tokenizer(selected.texts, add_special_tokens=False).input_ids
        for text, ids in zip(selected.prompts, answers, strict=True):
            cut += asked[text] + len(ids) >= limit
        if cut and training.process_index == 0:
            of = n_of(cut, len(answers))
            tqdm.write(f"{of} answers ({name}) are cut at max_length {limit}")


class SftRun(_TableRun):
    """SFT, decided: the answers to imitate."""

    def __init__(
        self, asked: SftArguments, training: SftSettings, model: ModelConfig
    ) -> None:
        """Choose the answers, and say which."""
        beside: Any = asked.beside
        tables = list(filter(is_run, beside))
        self._answers = [*(asked.answers or ()), *tables]
        self._word_targets = asked.word_targets
        step = whole_steps("top_k", asked.top_k, training)
        self._top = select_top(asked.answers or (), asked.top_k, beside, step)
        if training.process_index == 0:
            tqdm.write(f"SFT on {self._top.summary()}")
        chosen = len(self._top.ids) < self._top.of
        super().__init__(
            asked,
            training,
            model,
            facts={"selection": self._top.facts()},
            sources=_sources(asked.answers or (), "sft", chosen=chosen)
            + _sources(tables, "sft", chosen=True),
            recorder=RunRecorder(tasks=self._top.tasks),
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
        count = asked.num_pairs
        count -= count % whole_steps("num_pairs", count, training)
        self._pairs = select_pairs(answers, count, seed=training.seed, rule=asked.pairs)
        named = self._pairs._asdict()
        if training.process_index == 0:
            for name, selected in named.items():
                tqdm.write(f"DPO, {name}: {selected.summary()}")
        facts = {name: selected.facts() for name, selected in named.items()}
        super().__init__(
            asked,
            training,
            model,
            facts={"selection": facts},
            sources=_sources(answers, "dpo", chosen=True),
            recorder=RunRecorder(tasks=self._pairs.chosen.tasks),
        )

    def build(self, tokenizer: Any, common: dict[str, Any]) -> Any:
        """TRL's trainer."""
        rows = self.dataset(tokenizer, common["args"], self._pairs._asdict())
        return reference_trainer(self.share_prompt)(train_dataset=rows, **common)


# They train, and return the folder of the trained model.
train_sft = partial(train, SftRun)
train_dpo = partial(train, DpoRun)


def _sources(answers: Sequence[str], by: str, *, chosen: bool) -> list[dict[str, Any]]:
    return [
        source
        for path in answers
        for source in of_answers(read_run(Path(path)), by, chosen=chosen)
    ]


def reference_trainer(shared: bool) -> Any:
    """TRL's DPO trainer; with `shared` its reference log-probabilities compute each prompt once, as the loss does."""
    from trl import DPOTrainer

    from sozo.training.shared_prompt import share_prompt

    class ReferenceTrainer(DPOTrainer):  # type: ignore[misc]
        _precompute_engine: Any

        # TRL computes them before training, inside its constructor: too early for whoever holds the trainer.
        def _precompute_ref_logps(self, *args: Any) -> Any:
            if shared:
                share_prompt(
                    self.accelerator.unwrap_model(self.ref_model or self.model),
                    say=False,
                )
            rows = super()._precompute_ref_logps(*args)
            # TRL leaves the hooks of an engine of its own on the policy. Behind exactly one pass under ZeRO-3 their
            # trace of modules is read in training, where it is another.
            if self._precompute_engine is not None:
                self._precompute_engine.destroy()
                self._precompute_engine = None
            return rows

    return ReferenceTrainer
