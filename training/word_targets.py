"""SFT on lists of words whose distribution is known: the target of each word is that, and not the one word drawn.

One drawn word of thousands says next to nothing about how it depends on the words before it; its distribution says it
all. A word of several tokens has a target for each: how its nouns go on, among those that begin with the tokens before.
"""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from trl import SFTTrainer

from sozo.data.errors import UserError
from sozo.models.generators import GeneratorSettings, load_generator
from sozo.models.nouns import FrontierNouns
from sozo.tasks import read_run, task_type
from sozo.training.shared_prompt import response_logits

_IGNORED, _END = -100, -1
_CHECKED = 64  # lists


class WordTargets:
    """Cross-entropy of logits with a word's own distribution, and with the one token everywhere else.

    `words` gives the distributions (`targets`, `bias`), `spellings` the tokens of each of its nouns as lists write it.
    A row that does not hold just as many nouns as a list has (one that was cut) is imitated token by token.
    """

    def __init__(self, words: Any, spellings: Sequence[tuple[int, ...]]) -> None:
        self._words, self._places = words, len(words.bias)
        self._noun = {spelling: number for number, spelling in enumerate(spellings)}
        self._lengths = sorted({len(spelling) for spelling in spellings}, reverse=True)
        depths = range(self._lengths[0] + 1)
        # What each noun's token at a depth is, and which nouns have the same tokens before it: (depths, nouns).
        padded = [[*spelling, *[_END] * (len(depths) - len(spelling))] for spelling in spellings]
        self._next = torch.tensor(padded).T.contiguous()
        prefixes: dict[tuple[int, ...], int] = {}
        self._prefix = np.array(
            [[prefixes.setdefault(s[:j], len(prefixes)) if j <= len(s) else -1 for s in spellings] for j in depths]
        )
        # Where only one token can follow, its own target is that.
        follows: dict[int, set[int]] = {}
        for prefix, token in zip(self._prefix.ravel().tolist(), self._next.ravel().tolist(), strict=True):
            follows.setdefault(prefix, set()).add(token)
        self._open = np.array([prefix >= 0 and len(follows[prefix]) > 1 for prefix in range(len(prefixes))])

    def find(self, tokens: Sequence[int]) -> list[tuple[int, int]]:
        """The nouns in a row of tokens that a token follows (negative: none): where they begin, and their numbers."""
        nouns, place = [], 0
        while place < len(tokens):
            spellings = (tuple(tokens[place : place + length]) for length in self._lengths)
            spelling = next((spelling for spelling in spellings if spelling in self._noun), None)
            end = place + len(spelling or ())
            if spelling is not None and end < len(tokens) and tokens[end] >= 0:
                nouns.append((place, self._noun[spelling]))
            place = max(end, place + 1)
        return nouns

    def __call__(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The sum over the labels that are asked for: `logits` (rows, tokens, vocabulary), `labels` (rows, tokens)."""
        logits = logits.float()
        wanted = logits.gather(-1, labels.clamp(min=0)[..., None])[..., 0]
        nouns = [self.find(row) for row in labels.tolist()]
        rows = [row for row, hits in enumerate(nouns) if len(hits) == self._places]
        if not rows:
            raise UserError("word_targets: no response of a batch holds its whole list; give a larger max_length")
        lists = np.array([[noun for _, noun in nouns[row]] for row in rows])
        shares = self._words.targets(lists).reshape(lists.size, -1)
        row, noun = np.repeat(rows, self._places), lists.ravel()
        start = np.array([place for row in rows for place, _ in nouns[row]])
        lengths = (self._next.numpy() != _END).sum(axis=0)[noun]
        end = labels.cpu()[row, start + lengths]  # what follows a word
        for depth, (prefix, following) in enumerate(zip(self._prefix, self._next, strict=True)):
            at = np.flatnonzero((lengths >= depth) & self._open[prefix[noun]])
            if not len(at):
                continue
            likely = shares[at] * (prefix == prefix[noun[at]][:, None])
            likely /= likely.sum(axis=1, keepdims=True)
            tokens = torch.where(following == _END, end[at][:, None], following)
            place = tuple(torch.from_numpy(index).to(logits.device) for index in (row[at], start[at] + depth))
            scores = logits[place[0][:, None], place[1][:, None], tokens.to(logits.device)]
            # Not in place: `wanted` is part of the graph.
            wanted = wanted.index_put(place, (torch.from_numpy(likely).to(scores) * scores).sum(dim=-1))
        return (logits.logsumexp(dim=-1) - wanted)[labels != _IGNORED].sum()


class WordTargetTrainer(SFTTrainer):  # type: ignore[misc]
    """TRL's SFT trainer with `WordTargets` as its loss."""

    def __init__(self, *args: Any, word_targets: WordTargets, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._word_targets = word_targets

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """The mean over the tokens of all processes and of all micro-batches of a step."""
        logits, labels = response_logits(model, inputs, self.accelerator.unwrap_model(model))
        count = (labels != _IGNORED).sum() if num_items_in_batch is None else num_items_in_batch
        loss = self._word_targets(logits, labels) / count
        if num_items_in_batch is not None and self.args.average_tokens_across_devices:
            loss = loss * self.accelerator.num_processes  # gradients are averaged over them
        return (loss, {"logits": logits}) if return_outputs else loss


def word_targets(responses: Sequence[str | Path], tokenizer: Any) -> WordTargets:
    """The targets of tables that the same frontier wrote word by word, by the tokens of `tokenizer`."""
    runs = [read_run(Path(path)) for path in responses]
    if any(run.settings.get("word_strength") is None for run in runs):
        wanted = "--model frontier --strength 1000 --word_strength 300, say"
        raise UserError(f"word_targets needs responses whose words' distribution is known: sample_dat.py {wanted}")
    if any(run.loaded["decoder"] != runs[0].loaded["decoder"] for run in runs):
        raise UserError("word_targets needs responses of one frontier; these are of several")
    settings = runs[0].settings
    kind = task_type(runs[0].task)
    task = kind(_of(kind.Settings, settings))
    generator = load_generator(_of(GeneratorSettings, settings), find_frontier=task.frontier)
    assert isinstance(generator, FrontierNouns)
    targets = WordTargets(generator.words, spell(tokenizer, generator.frontier.nouns))
    for answer in generator.answer([""] * _CHECKED, 0, 0):
        tokens = tokenizer.encode(f"{answer.text}\n1. ", add_special_tokens=False)
        if len(targets.find(tokens)) != len(generator.words.bias):
            raise UserError(f"word_targets: nouns are not to be told from what is around them in {answer.text!r}")
    return targets


def spell(tokenizer: Any, nouns: Sequence[str]) -> list[tuple[int, ...]]:
    """The tokens of each noun as a numbered list has it, from behind the full stop to the line break."""
    before = "1."
    lines = tokenizer(
        [f"{before} {noun}\n2. {noun}" for noun in nouns], add_special_tokens=False, return_offsets_mapping=True
    )
    spellings = []
    for noun, ids, spans in zip(nouns, lines["input_ids"], lines["offset_mapping"], strict=True):
        last = len(before) + 1 + len(noun)
        own = [(token, end) for token, (start, end) in zip(ids, spans, strict=True) if len(before) <= start < last]
        if not own or own[-1][1] != last:
            raise UserError(f"word_targets: this tokenizer joins {noun} with the line break after it; leave it out")
        spellings.append(tuple(token for token, _ in own))
    if len(set(spellings)) < len(nouns):
        raise UserError("word_targets: this tokenizer spells several of the nouns alike (unknown characters)")
    return spellings


def _of(settings: Any, values: dict[str, Any]) -> Any:
    return settings(**{field.name: values[field.name] for field in fields(settings) if field.name in values})
