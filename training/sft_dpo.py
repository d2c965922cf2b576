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
from sozo.models.model_support import encode_text
from sozo.models.trained_on import Training, of_answers
from sozo.scoring.numbers import n_of
from sozo.tasks import Dat, read_run
from sozo.training.arguments import (
    DpoArguments,
    SftArguments,
    TableArguments,
    TablePerStep,
)
from sozo.training.decided import TrainingRun
from sozo.training.run import stored_dataset, train
from sozo.training.selection import (
    Selected,
    is_run,
    select_pairs,
    select_top,
    training_rows,
)


@dataclass
class SftSettings(TablePerStep, SFTConfig):
    """TRL's SFTConfig with `examples_per_step`."""


@dataclass
class DpoSettings(TablePerStep, DPOConfig):
    """TRL's DPOConfig with `examples_per_step`."""


class _TableRun(TrainingRun):
    """A training on rows of a table.

    A method's own says which answers each column of the rows has, and what they were drawn and chosen by (`choose`).
    """

    choose: Any

    def __init__(
        self,
        asked: TableArguments,
        training: Any,
        model: ModelConfig,
    ) -> None:
        """Choose the answers, and say which."""
        self._columns, sources = self.choose(asked, training)
        facts = {}
        for name, one in self._columns.items():
            facts[name] = one.facts()
            if training.process_index == 0:
                tqdm.write(f"{name}: {one.summary()}")
        super().__init__(
            asked, training, model, facts={"selection": facts}, sources=sources
        )

    def fit(
        self,
        tokenizer: Any,
        training: Any,
        window: int | None,
    ) -> None:
        """Cut examples, which TRL does at `max_length`, at the model's window at the latest; refuse a form that it lacks."""
        encode_text(tokenizer, "", self.form)
        limits = filter(None, (training.max_length, window))
        training.max_length = min(limits, default=None)

    def dataset(
        self,
        tokenizer: Any,
        training: Any,
    ) -> Any:
        """The rows of answers by their columns, stored; says how many `max_length` cuts, or the tokenizer cannot write.

        UserError where it cuts all.
        """
        limit = training.max_length
        for name, one in self._columns.items() if limit else ():
            answers = tokenizer(one.texts, add_special_tokens=False).input_ids
            cut = 0
            before = {}
            for prompt, ids in zip(one.prompts, answers, strict=True):
                if prompt not in before:
                    before[prompt] = len(encode_text(tokenizer, prompt, self.form))
                cut += before[prompt] + len(ids) >= limit
            if cut == len(answers):
                raise UserError(
                    f"all answers ({name}) are cut at max_length {limit}; give a larger one"
                )
            unknown = sum(tokenizer.unk_token_id in ids for ids in answers)
            unk = f"hold what the tokenizer writes as {tokenizer.unk_token}"
            for n, what in (cut, f"are cut at max_length {limit}"), (unknown, unk):
                if n and training.process_index == 0:
                    tqdm.write(f"{n_of(n, len(answers))} answers ({name}) {what}")
        conversational = bool(tokenizer.chat_template)
        rows = training_rows(
            self._columns, conversational=conversational, form=self.form
        )
        return stored_dataset(rows, training)


class SftRun(_TableRun):
    """SFT, decided: the answers to imitate."""

    def choose(
        self,
        asked: SftArguments,
        training: SftSettings,
    ) -> tuple[Mapping[str, Selected], list[Training]]:
        """The best answers, and what stands beside them."""
        beside: Any = asked.beside
        answers = asked.answers or ()
        tables = list(filter(is_run, beside))
        self._tables = [*answers, *tables]
        self._word_targets = asked.word_targets
        top = select_top(answers, asked.top_k, beside, asked.step(training))
        sources = _sources(answers, "sft", chosen=len(top.ids) < top.of)
        return {"completion": top}, sources + _sources(tables, "sft", chosen=True)

    def build(
        self,
        tokenizer: Any,
        common: dict[str, Any],
    ) -> Any:
        """TRL's trainer, or ours with targets for words."""
        from trl import SFTTrainer

        rows = self.dataset(tokenizer, common["args"])
        if not self._word_targets:
            return SFTTrainer(train_dataset=rows, **common)
        from sozo.training.word_targets import LISTED, WordTargetTrainer, word_targets

        # Not among the rows: a run may have stored them before.
        listed = [task == Dat.name for task in self._columns["completion"].tasks]
        return WordTargetTrainer(
            word_targets=word_targets(self._tables, tokenizer),
            train_dataset=rows.add_column(LISTED, listed),
            **common,
        )


class DpoRun(_TableRun):
    """DPO, decided: the pairs, by the rule `pairs` and the seed."""

    def choose(
        self,
        asked: DpoArguments,
        training: DpoSettings,
    ) -> tuple[Mapping[str, Selected], list[Training]]:
        """The pairs."""
        answers = asked.answers or ()
        count = asked.num_pairs
        count -= count % asked.step(training)
        pairs = select_pairs(answers, count, seed=training.seed, rule=asked.pairs)
        return pairs._asdict(), _sources(answers, "dpo", chosen=True)

    def build(
        self,
        tokenizer: Any,
        common: dict[str, Any],
    ) -> Any:
        """TRL's trainer."""
        rows = self.dataset(tokenizer, common["args"])
        return reference_trainer(self.asked.share_prompt)(train_dataset=rows, **common)


# They train, and return the folder of the trained model.
train_sft = partial(train, SftRun)
train_dpo = partial(train, DpoRun)


def _sources(
    answers: Sequence[str],
    by: str,
    *,
    chosen: bool,
) -> list[Training]:
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
                model = self.ref_model or self.model
                share_prompt(self.accelerator.unwrap_model(model))
            rows = super()._precompute_ref_logps(*args)
            # TRL leaves the hooks of an engine of its own on the policy. Behind exactly one pass under ZeRO-3 their
            # trace of modules is read in training, where it is another.
            if self._precompute_engine is not None:
                self._precompute_engine.destroy()
                self._precompute_engine = None
            return rows

    return ReferenceTrainer
