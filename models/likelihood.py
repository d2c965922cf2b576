"""How likely a model finds texts: bits per character, which models with different vocabularies share as a unit."""

import math
import unicodedata
from collections.abc import Sequence
from functools import partial
from typing import Any

from sozo.data.errors import UserError
from sozo.models.model_support import in_eval_mode, window_of

WINDOW = 1024  # tokens that are read at once, with the one in front
_TOKENS = 4096  # in a batch
_LOGITS = 2**28  # bytes of logits in a batch, in float32
_ROWS = 128  # of logits that are normalised at once


def bits_per_character(
    model: Any, tokenizer: Any, texts: Sequence[str], window: int = WINDOW
) -> list[float | None]:
    """Of each text the sum of -log2 p over its tokens, divided by its characters (Unicode code points).

    A text is read raw, of a chat model too: no template, no turn. In front of its first token stands what begins texts
    for this tokenizer, its BOS, or its EOS where it has none; that token counts for nothing, and an end is not asked for.
    A text that is longer than `window` tokens, or than the model's own window, is read in windows that overlap by half,
    each behind the same token; every token of the text counts once, behind half a window of others or more.

    None of a text that has no characters or holds what the vocabulary has no token for: its likelihood would be that of
    another text. A UserError where the model's numbers are not finite.
    """
    bound = min(window, window_of(model) or window)
    if bound < 3:
        raise ValueError(f"window must be at least 3 tokens, not {bound}")
    ids = [_tokens(tokenizer, text) for text in texts]
    rows = [
        (number, start, first, end)
        for number, own in enumerate(ids)
        if own
        for start, first, end in _windows(len(own), bound - 1)
    ]
    rows.sort(key=lambda row: row[3] - row[1])  # little padding
    bits = [0.0] * len(texts)
    most = max(bound, min(_TOKENS, _LOGITS // (4 * _vocabulary(model))))
    for batch in _batches(rows, most):
        pieces = [ids[number][start:end] for number, start, _, end in batch]
        firsts = [first - start for _, start, first, _ in batch]
        for row, value in zip(
            batch, _bits(model, _begins(tokenizer), pieces, firsts), strict=True
        ):
            bits[row[0]] += value
    if not all(map(math.isfinite, bits)):
        raise UserError(
            "the model's probabilities are not finite; try --dtype float32 or another checkpoint"
        )
    return [
        value / len(text) if own else None
        for value, text, own in zip(bits, texts, ids, strict=True)
    ]


def _tokens(tokenizer: Any, text: str) -> list[int]:
    """The tokens of a text; none if the vocabulary cannot write all of it."""
    kinds = {char: unicodedata.category(char) for char in set(text)}
    if "Cs" in kinds.values():  # half of a character, which no tokenizer takes
        return []
    read = partial(tokenizer, add_special_tokens=False, verbose=False)
    ids = list(read(text)["input_ids"])
    # One that knows no unknown token leaves out what it cannot write. Marks and white space some leave out on purpose.
    seen = [char for char, kind in kinds.items() if kind[0] in "LNPS"]
    alone = read(seen)["input_ids"] if seen else []
    return ids if all(alone) and tokenizer.unk_token_id not in ids else []


def _windows(tokens: int, room: int) -> list[tuple[int, int, int]]:
    """Windows over a text of so many tokens: which it begins with, from which on they count, and where it ends.

    >>> _windows(10, 4)
    [(0, 0, 4), (2, 4, 6), (4, 6, 8), (6, 8, 10)]
    """
    windows = [(0, 0, min(tokens, room))]
    while (first := windows[-1][2]) < tokens:
        end = min(tokens, first + room // 2)
        windows.append((end - room, first, end))
    return windows


def _batches(
    rows: Sequence[tuple[int, int, int, int]], most: int
) -> list[list[tuple[int, int, int, int]]]:
    """Rows from the shortest to the longest in batches of up to `most` tokens, with their padding."""
    batches: list[list[tuple[int, int, int, int]]] = []
    for row in rows:
        length = row[3] - row[1] + 1
        if not batches or (len(batches[-1]) + 1) * length > most:
            batches.append([])
        batches[-1].append(row)
    return batches


def _bits(
    model: Any, begins: int, pieces: Sequence[Sequence[int]], firsts: Sequence[int]
) -> list[float]:
    """Of each piece the bits of its tokens from number `first` on; padded on the right, which no token sees."""
    import torch

    longest = max(map(len, pieces))
    ids = torch.tensor(
        [[begins, *piece] + [begins] * (longest - len(piece)) for piece in pieces],
        device=model.device,
    )
    places = torch.arange(longest + 1, device=model.device)
    lengths = torch.tensor([len(piece) + 1 for piece in pieces], device=model.device)
    mask = (places < lengths[:, None]).long()
    values = []
    with torch.no_grad(), in_eval_mode(model):
        logits = model(input_ids=ids, attention_mask=mask, use_cache=False).logits
        for row, (piece, first) in enumerate(zip(pieces, firsts, strict=True)):
            total = 0.0
            for start in range(first, len(piece), _ROWS):
                end = min(start + _ROWS, len(piece))
                wanted = ids[row, start + 1 : end + 1, None]
                known = logits[row, start:end].float().log_softmax(-1)
                total -= float(known.gather(-1, wanted).double().sum())
            values.append(total / math.log(2))
    return values


def _begins(tokenizer: Any) -> int:
    """The token that stands in front of a text."""
    for token in (tokenizer.bos_token_id, tokenizer.eos_token_id):
        if token is not None:
            return int(token)
    raise UserError(
        "the tokenizer has neither a BOS nor an EOS token, behind which a text could begin; give it one"
    )


def _vocabulary(model: Any) -> int:
    return int(model.config.get_text_config().vocab_size)
