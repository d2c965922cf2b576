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
from sozo.training.shared_prompt import answer_logits, share_prompt
from sozo.training.word_targets import IGNORED, spell

_BETWEEN = 3  # words between the places of a list at which nouns are looked at


def log_probabilities(
    model: Any,
    tokenizer: Any,
    nouns: Sequence[str],
    prompt: Sequence[int],
    *,
    done: Collection[str] = (),
    lists: int = 3,
    seed: int = 0,
    batch_size: int = 128,
) -> Iterator[dict[str, float]]:
    """The log-probability in nats, at most 0, of every one of `nouns` that is not `done`, batch by batch.

    It is the mean over so many `lists` that begin behind the `prompt` (token ids). Their next word is the noun, with
    all of its tokens and the line break: the first word of the first list, of each further list one that stands three
    places later. The words before it are drawn from `nouns` by `seed`. A UserError where the tokenizer cannot tell a
    noun from what is around it.
    """
    spell(
        tokenizer, nouns
    )  # refuses a tokenizer that cannot tell them from what is around them
    rng = np.random.default_rng(seed)
    population = np.array(nouns, dtype=object)
    begun = [
        rng.choice(population, _BETWEEN * k, replace=False).tolist()
        for k in range(lists)
    ]
    left = [noun for noun in nouns if noun not in done]
    rows = {
        noun: [_row(tokenizer, prompt, before, noun) for before in begun]
        for noun in left
    }
    left.sort(
        key=lambda noun: len(rows[noun][0][0])
    )  # of one length they need no padding
    share_prompt(model, say=False)
    for start in range(0, len(left), batch_size):
        batch = left[start : start + batch_size]
        with torch.inference_mode(), in_eval_mode(model):
            each = [
                _of_batch(model, same)
                for same in zip(*(rows[noun] for noun in batch), strict=True)
            ]
        yield dict(zip(batch, np.mean(each, axis=0).tolist(), strict=True))


def _row(
    tokenizer: Any, prompt: Sequence[int], before: Sequence[str], noun: str
) -> tuple[list[int], int]:
    """The tokens up to the line break behind a list's next noun, and how many of them stand before the noun."""
    text = write_list([*before, noun, noun])
    start = len(write_list([*before, ""])) - 1
    line = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    end = start + 1 + len(noun)
    places = [place for place, _ in line["offset_mapping"]]
    ids = [
        *prompt,
        *(
            token
            for token, place in zip(line["input_ids"], places, strict=True)
            if place <= end
        ),
    ]
    return ids, len(prompt) + sum(place < start for place in places)


def _of_batch(model: Any, rows: Sequence[tuple[list[int], int]]) -> np.ndarray:
    """The log-probability of the tokens from a number of them on, of each row."""
    ids = [torch.tensor(row) for row, _ in rows]
    labels = [
        torch.cat([torch.full((before,), IGNORED), row[before:]])
        for row, (_, before) in zip(ids, rows, strict=True)
    ]
    batch = {
        "input_ids": pad_sequence(ids, batch_first=True),
        "labels": pad_sequence(labels, batch_first=True, padding_value=IGNORED),
        "attention_mask": pad_sequence(
            [torch.ones_like(row) for row in ids], batch_first=True
        ),
    }
    logits, wanted = answer_logits(
        model, {name: part.to(model.device) for name, part in batch.items()}, model
    )
    loss = cross_entropy(
        logits.float().transpose(1, 2), wanted, ignore_index=IGNORED, reduction="none"
    )
    return -loss.double().sum(dim=1).cpu().numpy()
