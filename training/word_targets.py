"""SFT on lists of words whose distribution is known: the target of each word is that, and not the one word drawn.

One drawn word of thousands says next to nothing about how it depends on the words before it; its distribution says it
all. A word of several tokens has a target for each: how its nouns go on, among those that begin with the tokens before.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import fields
from itertools import compress, groupby
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from trl import SFTTrainer
from trl.trainer import sft_trainer

from sozo.data.errors import UserError
from sozo.models.nouns import FrontierNouns
from sozo.scoring.languages import read_nouns
from sozo.tasks import Dat, read_run
from sozo.training.shared_prompt import answer_logits

IGNORED = -100
END = -1
LISTED = "listed"


class WordTargets:
    """Cross-entropy of logits with a word's own distribution, and with the one token everywhere else.

    `words` gives the distributions (`targets`, `bias`) of the nouns that `spellings` spell, each by the tokens with
    which lists write it. Every row that is none of `lists` (see `row_key`) is imitated token by token, whatever nouns
    it holds: an answer to another task, and a list that was cut.
    """

    def __init__(
        self,
        words: Any,
        spellings: Sequence[tuple[int, ...]],
        lists: Container[bytes] = (),
    ) -> None:
        self.words = words
        self._spellings = spellings
        self.lists = lists
        self._noun = {spelling: number for number, spelling in enumerate(spellings)}
        self._longest = max(map(len, spellings))
        # Of each beginning its nouns, the tokens that follow, and where among the nouns those of each token begin.
        self._next: dict[tuple[int, ...], tuple[np.ndarray, ...]] = {}
        # Sorted, nouns that begin with the same tokens stand together, first the one that has no more than these.
        self._branch(sorted(self._noun.values(), key=spellings.__getitem__), 0)

    def _branch(self, nouns: Sequence[int], depth: int) -> None:
        """Note how nouns go on that begin with the same `depth` tokens."""
        tokens, starts, place = [], [], 0
        of_next = groupby(nouns, key=lambda noun: (*self._spellings[noun], END)[depth])
        for token, group in of_next:
            same = list(group)
            tokens.append(token)
            starts.append(place)
            place += len(same)
            if token != END:
                self._branch(same, depth + 1)
        if len(tokens) > 1:  # the target of the only one is that
            before = self._spellings[nouns[0]][:depth]
            self._next[before] = np.array(nouns), np.array(tokens), np.array(starts)

    def find(self, tokens: Sequence[int]) -> list[tuple[int, int]]:
        """The nouns in a row of tokens that a token follows (negative: none): where they begin, and their numbers."""
        nouns = []
        place = 0
        while place < len(tokens):
            step = 1
            for length in range(self._longest, 0, -1):
                end = place + length
                noun = self._noun.get(tuple(tokens[place:end]))
                if noun is not None:
                    step = length
                    if end < len(tokens) and tokens[end] >= 0:
                        nouns.append((place, noun))
                    break
            place += step
        return nouns

    def __call__(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The sum over the labels that are asked for: `logits` (rows, tokens, vocabulary), `labels` (rows, tokens)."""
        logits = logits.float()
        lines = labels.tolist()
        asked = labels.cpu() != IGNORED
        hits = {
            row: self.find(line)
            for row, line in enumerate(lines)
            if row_key(line) in self.lists
        }
        every_noun = np.array([[noun for _, noun in nouns] for nouns in hits.values()])
        targets = self.words.targets(every_noun) if hits else ()
        single = asked.numpy().copy()
        parts = []
        # Of the logits of each place.
        start_of = np.arange(labels.numel()).reshape(labels.shape) * logits.shape[-1]
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


def row_key(labels: Sequence[int]) -> bytes:
    """What tells a row of labels from others, however it is padded."""
    row = np.array(labels)
    return row[row != IGNORED].tobytes()


class WordTargetTrainer(SFTTrainer):  # type: ignore[misc]
    """TRL's SFT trainer with `WordTargets` as its loss; a LoRA adapter may reach the output layer too.

    The dataset's column LISTED says which rows are lists of the frontier. A UserError where none of them is whole.
    """

    def __init__(self, *args: Any, word_targets: WordTargets, **kwargs: Any) -> None:
        # TRL refuses an adapter there, since its own loss passes it by. This one is of the whole model's logits.
        with patch.object(sft_trainer, "BaseTunerLayer", ()):
            super().__init__(*args, **kwargs)
        rows = compress(self.train_dataset["labels"], self.train_dataset[LISTED])
        places = len(word_targets.words.bias)
        # The loss sees no label of a row's first token. A list that was cut has fewer nouns.
        lists = {
            row_key(row[1:]) for row in rows if len(word_targets.find(row)) == places
        }
        if not lists:
            raise UserError(
                "word_targets: no list of the frontier is whole among the answers taken; give a larger top_k or max_length"
            )
        word_targets.lists = lists
        self._word_targets = word_targets

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        num_items_in_batch: Any = None,
    ) -> Any:
        """The mean over the tokens of all processes and of all micro-batches of a step."""
        inner = self.accelerator.unwrap_model(model)
        logits, labels = answer_logits(model, inputs, inner)
        count = num_items_in_batch
        if count is None:
            count = (labels != IGNORED).sum()
        loss = self._word_targets(logits, labels) / count
        if num_items_in_batch is not None and self.args.average_tokens_across_devices:
            # Gradients are averaged over them.
            loss = loss * self.accelerator.num_processes
        return loss


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
    return WordTargets(generator.words, spell(tokenizer, frontier.nouns))


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
