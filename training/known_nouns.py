"""Nouns in the order in which a model knows them: by its own log-probability of their spelling in a list.

Training on DAT teaches which nouns to write and how a list looks, and hardly how a noun is spelled: a small model that
is shown lists of nouns that it does not know makes up words. So a recipe takes the nouns that its model knows best.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence

from sozo.models.model_support import in_eval_mode
from sozo.scoring.parse import write_list
from sozo.training.shared_prompt import response_logits, share_prompt
from sozo.training.word_targets import IGNORED, spell

_BETWEEN = 3  # words between the places of a list at which nouns are looked at


def log_probabilities(
    model: Any,
    tokenizer: Any,
    nouns: Sequence[str],
    prompt: Sequence[int],
    *,
    known: Collection[str] = (),
    lists: int = 3,
    seed: int = 0,
    batch_size: int = 128,
) -> Iterator[dict[str, float]]:
    """The log-probability in nats, at most 0, of every one of `nouns` that is not `known`, batch by batch.

    It is the mean over so many `lists` that begin behind the `prompt` (token ids). Their next word is the noun, with
    all of its tokens and the line break: the first word of the first list, of each further list one that stands three
    places later. The words before it are drawn from `nouns` by `seed`. A UserError where the tokenizer cannot tell a
    noun from what is around it.
    """
    rng, population = np.random.default_rng(seed), np.array(nouns, dtype=object)
    words = [rng.choice(population, _BETWEEN * k, replace=False).tolist() for k in range(lists)]
    prefixes = [[*prompt, *_tokens(tokenizer, _up_to_next(before))] for before in words]
    spelled = spell(tokenizer, nouns)
    line_end = _tokens(tokenizer, f"{_up_to_next([])} {nouns[0]}\n2.")[len(_tokens(tokenizer, "1.")) + len(spelled[0])]
    endings = {noun: [*tokens, line_end] for noun, tokens in zip(nouns, spelled, strict=True) if noun not in known}
    left = sorted(endings, key=lambda noun: len(endings[noun]))  # rows of one length need no padding
    share_prompt(model, say=False)
    for start in range(0, len(left), batch_size):
        batch = left[start : start + batch_size]
        with torch.inference_mode(), in_eval_mode(model):
            each = [_of_batch(model, prefix, [endings[noun] for noun in batch]) for prefix in prefixes]
        yield dict(zip(batch, np.mean(each, axis=0).tolist(), strict=True))


def _of_batch(model: Any, prefix: list[int], endings: Sequence[list[int]]) -> np.ndarray:
    rows = [torch.tensor([*prefix, *ending]) for ending in endings]
    labels = pad_sequence(rows, batch_first=True, padding_value=IGNORED)
    batch = {
        "input_ids": pad_sequence(rows, batch_first=True),
        "labels": labels.index_fill(1, torch.arange(len(prefix)), IGNORED),
        "attention_mask": (labels != IGNORED).long(),
    }
    logits, wanted = response_logits(model, {name: part.to(model.device) for name, part in batch.items()}, model)
    loss = cross_entropy(logits.float().transpose(1, 2), wanted, ignore_index=IGNORED, reduction="none")
    return -loss.double().sum(dim=1).cpu().numpy()


def _up_to_next(words: Sequence[str]) -> str:
    """A list up to the full stop of its next number."""
    return write_list([*words, ""]).removesuffix(" ")


def _tokens(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False))
