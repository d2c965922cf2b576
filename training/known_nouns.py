"""Nouns in the order in which a model knows them: by its own log-probability of their spelling in a list.

Training on DAT teaches which nouns to write and how a list looks, and hardly how a noun is spelled: a small model that
is shown lists of nouns that it does not know makes up words. So a recipe takes the nouns that its model knows best, or,
in seconds and without the model, those that its tokenizer spells with the fewest tokens.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence

from sozo.data.english import dictionary
from sozo.data.errors import UserError
from sozo.models.model_support import in_eval_mode
from sozo.scoring.languages import read_nouns
from sozo.scoring.nouns import make_noun_checker
from sozo.scoring.parse import NUM_WORDS, script_reason, write_list
from sozo.training.shared_prompt import answer_logits, share_prompt
from sozo.training.word_targets import IGNORED, spell, spellings_of

_BETWEEN = 3  # words between the places of a list at which nouns are looked at
CHECKERS = {
    "ja": "jumandic",
    "en": "lemminflect",
}  # of each language the one that needs no program


def checked_nouns(language: str, source: str | None = None) -> list[str]:
    """The nouns of `source` (as in `read_nouns`) that pass DAT's rules."""
    words = [
        word
        for word in read_nouns(source, language)
        if script_reason(word, language) is None
    ]
    verdicts = make_noun_checker(CHECKERS[language]).check(words)
    return [
        word for word, verdict in zip(words, verdicts, strict=True) if verdict.is_noun
    ]


def frequent_nouns(tokenizer: Any, language: str, most: int) -> list[str]:
    """At most so many of a language's nouns, sorted: those that a list spells with the fewest tokens.

    Of as many tokens come first those whose rarest one has the lowest number, since a tokenizer learned its frequent
    words first. Of English nouns only those that are no other part of speech: what leaks from them to their neighbours
    is mostly a noun, too. Nouns with unknown characters, and such as are spelled alike, are left out. A UserError where
    fewer than a list's ten are left.
    """
    nouns = checked_nouns(language)
    if language == "en":
        others = set().union(*(dictionary()[pos] for pos in ("verb", "adj", "adv")))
        nouns = [noun for noun in nouns if noun not in others]
    spellings = list(spellings_of(tokenizer, nouns))
    times = Counter(spellings)
    ranked = sorted(
        (len(tokens), max(tokens), noun)
        for noun, tokens in zip(nouns, spellings, strict=True)
        if tokens and times[tokens] == 1 and tokenizer.unk_token_id not in tokens
    )
    if len(ranked) < NUM_WORDS:
        raise UserError(
            f"the model's tokenizer can spell {len(ranked)} of {len(nouns):,} nouns of {language}, and a list has"
            f" {NUM_WORDS}; give a model of this language"
        )
    return sorted(noun for *_, noun in ranked[:most])


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
