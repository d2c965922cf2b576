"""SFT on lists of words whose distribution is known: the target of each word is that, and not the one word drawn.

One drawn word of thousands says next to nothing about how it depends on the words before it; its distribution says it
all. A word of several tokens has a target for each: how its nouns go on, among those that begin with the tokens before.
"""

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from trl import SFTTrainer
from trl.trainer import sft_trainer

from sozo.data.errors import UserError
from sozo.data.processes import is_first
from sozo.models.nouns import FrontierNouns
from sozo.scoring.languages import read_nouns
from sozo.tasks import Dat, read_run
from sozo.training.shared_prompt import answer_logits

logger = logging.getLogger(__name__)
IGNORED = -100
END = -1
LISTED = (
    "listed"  # the dataset's column that says which answers are lists of the frontier
)
_CHECKED = 64  # lists


class WordTargets:
    """Cross-entropy of logits with a word's own distribution, and with the one token everywhere else.

    `words` gives the distributions (`targets`, `bias`) of the nouns that `spellings` spell, each by the tokens with
    which lists write it.
    An answer to another task is imitated token by token, whatever nouns it holds, and so is a list that was cut.
    """

    def __init__(self, words: Any, spellings: Sequence[tuple[int, ...]]) -> None:
        self._words = words
        self._places = len(words.bias)
        self._spellings = spellings
        self._noun = {spelling: number for number, spelling in enumerate(spellings)}
        self._longest = max(map(len, spellings))
        # Sorted, nouns that begin with the same tokens stand together, first the one that has no more than these.
        order = sorted(range(len(spellings)), key=spellings.__getitem__)
        first: dict[
            tuple[int, ...], dict[int, int]
        ] = {}  # of each beginning: where the nouns of its next tokens begin
        end: dict[tuple[int, ...], int] = {}
        for place, number in enumerate(order):
            for depth, token in enumerate((*spellings[number], END)):
                before = spellings[number][:depth]
                first.setdefault(before, {}).setdefault(token, place)
                end[before] = place + 1
        # Of each beginning its nouns, the tokens that follow, and where among the nouns those of each token begin.
        self._next: dict[
            tuple[int, ...], tuple[np.ndarray, np.ndarray, np.ndarray]
        ] = {}
        for before, starts in first.items():
            tokens = np.array(list(starts))
            places = np.array(list(starts.values()))
            if len(tokens) > 1:  # the target of the only one is that
                self._next[before] = (
                    np.array(order[places[0] : end[before]]),
                    tokens,
                    places - places[0],
                )

    def find(self, tokens: Sequence[int]) -> list[tuple[int, int]]:
        """The nouns in a row of tokens that a token follows (negative: none): where they begin, and their numbers."""
        nouns = []
        place = 0
        lengths = range(self._longest, 0, -1)
        while place < len(tokens):
            spellings = (tuple(tokens[place : place + length]) for length in lengths)
            spelling = next(
                (spelling for spelling in spellings if spelling in self._noun), None
            )
            end = place + len(spelling or ())
            if spelling is not None and end < len(tokens) and tokens[end] >= 0:
                nouns.append((place, self._noun[spelling]))
            place = max(end, place + 1)
        return nouns

    def holds_list(self, tokens: Sequence[int]) -> bool:
        """Whether a row of tokens holds as many nouns as a list has."""
        return len(self.find(tokens)) == self._places

    def __call__(
        self, logits: torch.Tensor, labels: torch.Tensor, listed: Sequence[bool]
    ) -> torch.Tensor:
        """The sum over the labels that are asked for: `logits` (rows, tokens, vocabulary), `labels` (rows, tokens).

        `listed` says which rows are lists of the frontier; one that was cut is imitated token by token.
        """
        logits = logits.float()
        lines = labels.tolist()
        asked = labels.cpu() != IGNORED
        found = {row: self.find(line) for row, line in enumerate(lines) if listed[row]}
        hits = {
            row: nouns for row, nouns in found.items() if len(nouns) == self._places
        }
        every_noun = np.array([[noun for _, noun in nouns] for nouns in hits.values()])
        targets = self._words.targets(every_noun) if hits else ()
        single = asked.numpy().copy()
        parts = []
        start_of = logits.shape[-1] * np.arange(labels.numel()).reshape(
            labels.shape
        )  # of the logits of each place
        for (row, nouns), of_list in zip(hits.items(), targets, strict=True):
            for (start, noun), shares in zip(nouns, of_list, strict=True):
                spelling = self._spellings[noun]
                for place in range(len(spelling) + 1):
                    if (after := self._next.get(spelling[:place])) is None:
                        continue
                    own, tokens, starts = after
                    # Not by differences of sums over all nouns, which leave nothing of a beginning that is rare.
                    likely = np.add.reduceat(shares[own], starts, dtype=np.float64)
                    tokens = np.where(
                        tokens == END, lines[row][start + len(spelling)], tokens
                    )
                    single[row, start + place] = False
                    parts.append(
                        (start_of[row, start + place] + tokens, likely / likely.sum())
                    )
        parts.append(
            ((start_of + labels.cpu().numpy())[single], np.ones(int(single.sum())))
        )
        at, share = (
            torch.from_numpy(np.concatenate(column)).to(logits.device)
            for column in zip(*parts, strict=True)
        )
        wanted = (share * logits.flatten().gather(0, at)).sum()  # in double precision
        return (logits.logsumexp(dim=-1)[asked].double().sum() - wanted).float()


class WordTargetTrainer(SFTTrainer):  # type: ignore[misc]
    """TRL's SFT trainer with `WordTargets` as its loss; a LoRA adapter may reach the output layer too."""

    data_collator: Any
    _signature_columns: Any

    def __init__(self, *args: Any, word_targets: WordTargets, **kwargs: Any) -> None:
        # TRL refuses that, since its own loss passes such an adapter by. This one is of the whole model's logits.
        refused = sft_trainer.BaseTunerLayer
        sft_trainer.BaseTunerLayer = ()
        try:
            super().__init__(*args, **kwargs)
        finally:
            sft_trainer.BaseTunerLayer = refused
        self._word_targets = word_targets
        self._look_for_cut_lists()
        self.data_collator = partial(
            _with_listed, self.data_collator
        )  # TRL's own leaves other columns out

    def _look_for_cut_lists(self) -> None:
        """Say how many lists were cut at `max_length`, which are imitated token by token; refuse where all were."""
        limit = self.args.max_length or math.inf
        rows = self.train_dataset
        lists = [
            labels
            for labels, listed in zip(rows["labels"], rows[LISTED], strict=True)
            if listed
        ]
        if not lists:
            raise UserError(
                "word_targets: none of the answers taken is a list of the frontier; give a larger top_k"
            )
        cut = sum(
            len(labels) >= limit and not self._word_targets.holds_list(labels)
            for labels in lists
        )
        if cut == len(lists):
            raise UserError(
                f"word_targets: no list is whole at max_length {limit}; give a larger one"
            )
        if cut and is_first():
            logger.warning(
                "%d of %d lists are cut at max_length %s, and imitated token by token",
                cut,
                len(lists),
                limit,
            )

    def _set_signature_columns_if_needed(self) -> None:
        """Which columns a batch is made of."""
        super()._set_signature_columns_if_needed()
        self._signature_columns = [*dict.fromkeys([*self._signature_columns, LISTED])]

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """The mean over the tokens of all processes and of all micro-batches of a step."""
        of_model = {name: value for name, value in inputs.items() if name != LISTED}
        logits, labels = answer_logits(
            model, of_model, self.accelerator.unwrap_model(model)
        )
        count = (
            (labels != IGNORED).sum()
            if num_items_in_batch is None
            else num_items_in_batch
        )
        loss = self._word_targets(logits, labels, inputs[LISTED].tolist()) / count
        if num_items_in_batch is not None and self.args.average_tokens_across_devices:
            loss = (
                loss * self.accelerator.num_processes
            )  # gradients are averaged over them
        return (loss, {"logits": logits}) if return_outputs else loss


def _with_listed(collate: Any, examples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        **collate(examples),
        LISTED: torch.tensor([example[LISTED] for example in examples]),
    }


def word_targets(answers: Sequence[str | Path], tokenizer: Any) -> WordTargets:
    """The targets of tables that the same frontier wrote word by word, by the tokens of `tokenizer`.

    Tables of other tasks beside them are imitated, so that a model that learns the one does not lose the others.
    """
    runs = [run for path in answers if (run := read_run(Path(path))).task == Dat.name]
    if not runs or any(run.settings.get("word_strength") is None for run in runs):
        wanted = "--model frontier --strength 1000 --word-strength 300, say"
        raise UserError(
            f"word_targets needs answers whose words' distribution is known: sozo dat {wanted}"
        )
    if any(run.loaded["decoder"] != runs[0].loaded["decoder"] for run in runs):
        raise UserError(
            "word_targets needs answers of one frontier; these are of several"
        )
    settings = runs[0].settings
    own = {
        field.name: settings[field.name]
        for field in fields(Dat.Settings)
        if field.name in settings
    }
    task = Dat(Dat.Settings(**own))
    nouns = read_nouns(settings["nouns"], task.settings.language)
    frontier = task.frontier(nouns, settings["frontier_encoder"])
    # Words that were dealt depend on no other.
    strength = 0.0 if settings.get("dealt") else settings["strength"]
    generator = FrontierNouns(
        frontier, strength, settings["word_strength"], name="frontier"
    )
    targets = WordTargets(generator.words, spell(tokenizer, frontier.nouns))
    for answer in generator.answer([""] * _CHECKED, 0, 0):
        tokens = tokenizer.encode(f"{answer.text}\n1. ", add_special_tokens=False)
        if len(targets.find(tokens)) != len(generator.words.bias):
            raise UserError(
                f"word_targets: nouns are not to be told from what is around them in {answer.text!r}"
            )
    return targets


def spell(tokenizer: Any, nouns: Sequence[str]) -> list[tuple[int, ...]]:
    """The tokens of each noun as a numbered list has it, from behind the full stop to the line break."""
    spellings = []
    for noun, spelling in zip(nouns, spellings_of(tokenizer, nouns), strict=True):
        if spelling is None:
            raise UserError(
                f"this tokenizer joins {noun} with the line break after it; leave it out"
            )
        spellings.append(spelling)
    if len(set(spellings)) < len(nouns):
        raise UserError(
            "this tokenizer spells several of the nouns alike (unknown characters)"
        )
    return spellings


def spellings_of(
    tokenizer: Any, nouns: Sequence[str]
) -> Iterator[tuple[int, ...] | None]:
    """As `spell`, of nouns of which some may be spelled alike; None of one that is joined with the line break."""
    before = "1."
    lines = tokenizer(
        [f"{before} {noun}\n2. {noun}" for noun in nouns],
        add_special_tokens=False,
        return_offsets_mapping=True,
    )
    for noun, ids, spans in zip(
        nouns, lines["input_ids"], lines["offset_mapping"], strict=True
    ):
        last = len(before) + 1 + len(noun)
        own = [
            (token, end)
            for token, (start, end) in zip(ids, spans, strict=True)
            if len(before) <= start < last
        ]
        whole = bool(own) and own[-1][1] == last
        yield tuple(token for token, _ in own) if whole else None
