"""A model with fewer tokens: those that given texts need, cut from its vocabulary, and the way back.

Most rows of a small model's embedding are of tokens that a list of nouns never uses. Without them it trains in a
fraction of the time and memory, and no probability is lost to them. What was trained can be put back into the whole
model: the tokens that were cut keep their old rows, which the training never saw.
"""

import hashlib
import json
import math
import shutil
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sozo.data.checkpoints import record_of
from sozo.data.errors import UserError
from sozo.data.prompts import as_completion
from sozo.data.prompts.form import trained_form
from sozo.data.record import provenance, room, whole_folder, write_json
from sozo.models.weights import check_model, load_model, pinned
from sozo.scoring.parse import NUM_WORDS, write_list

# Rows whose logits are compared, and the tokens of each
_PROBES = 4
_PROBE_TOKENS = 128
_ODD = ("continuing_subword_prefix", "end_of_word_suffix", "dropout")
_ORIGIN = "cut_from"  # in a cut model's config, so that every model trained from it has it too


def cut_vocabulary(
    name: str,
    output: Path,
    nouns: Sequence[str],
    prompts: Sequence[str],
    dtype: str = "auto",
) -> dict[str, Any]:
    """Write into `output` the model `name` with the tokens of `prompts` and of lists of `nouns`; what was done.

    It cuts the prompts as they are asked, and lists of these nouns behind the first of them in any order, into the same
    tokens as before, and gives these tokens the same logits to the bit; both are checked. Single bytes stay as well, so
    that no text is refused. A LoRA adapter is merged. A UserError where the tokenizer is no plain BPE, where the output
    layer is not the embedding, or where a check fails.

    >>> cut_vocabulary("runs/base", Path("runs/cut"), nouns, [prompt("dat")])["tokens"]  # doctest: +SKIP
    4539
    """
    if len(nouns := list(dict.fromkeys(nouns))) < NUM_WORDS:
        raise UserError(
            f"a list has {NUM_WORDS} nouns, and only {len(nouns)} different ones are given"
        )
    with whole_folder(output) as partial:
        return _cut_into(partial, name, nouns, prompts, dtype)


def _cut_into(
    partial: Path, name: str, nouns: list[str], prompts: Sequence[str], dtype: str
) -> dict[str, Any]:
    model, tokenizer = _load(name, dtype)
    embedding, parameters = model.get_input_embeddings().weight, model.num_parameters()
    if model.get_output_embeddings().weight is not embedding:
        raise UserError(
            f"{name}: its output layer is not its embedding; only a model with tied ones can be cut"
        )
    whole = _bpe(name, tokenizer)
    needed = _needed(name, tokenizer, nouns, prompts)
    ids = tokenizer(needed)["input_ids"]
    kept = {
        *tokenizer.all_special_ids,
        *(i for _, _, named in _settings(model) for i in np.atleast_1d(named).tolist()),
    }
    small, old = _cut(whole, kept.union(*ids))
    new = {token: number for number, token in enumerate(old)}
    before = _logits(model, old)
    origin = {"model": name, "embedding_sha256": _digest(embedding)}
    embedding.data[: len(old)] = embedding.data[old]
    model.resize_token_embeddings(len(old))
    for config, key, named in _settings(model):
        setattr(
            config,
            key,
            [new[i] for i in named if i in new]
            if isinstance(named, list)
            else new.get(named),
        )
    setattr(model.config, _ORIGIN, origin)
    record = {"tokens": len(old), "tokens_before": len(tokenizer)}
    record |= {
        "parameters": model.num_parameters(),
        "parameters_before": parameters,
        "nouns": len(nouns),
    }
    _save(model, tokenizer, name, partial)
    write_json(partial / "cut.json", origin | record | {"old_ids": old} | provenance())
    (partial / "tokenizer.json").write_text(
        json.dumps(small, ensure_ascii=False), "utf-8"
    )
    (partial / "nouns.txt").write_text("\n".join(nouns) + "\n", "utf-8")

    model, tokenizer = load_model(str(partial))
    for text, row, cut in zip(needed, ids, tokenizer(needed)["input_ids"], strict=True):
        if len(tokenizer) != len(old) or [new[i] for i in row] != cut:
            raise UserError(
                f"{name}: its tokenizer cannot be cut: {text[-40:]!r} comes out otherwise"
            )
    _compare(name, before, _logits(model, range(len(old))))
    return record


def restore_vocabulary(
    name: str, full: str, output: Path, dtype: str = "auto"
) -> dict[str, Any]:
    """Write into `output` the model `full` with the weights of `name`, cut from it and trained; what was done.

    Tokens that were cut away keep the rows of `full`. All others have the same logits as in `name` to the bit, which is
    checked. A UserError where `name` was not cut from `full`.
    """
    with whole_folder(output) as partial:
        return _restore_into(partial, name, full, dtype)


def _restore_into(partial: Path, name: str, full: str, dtype: str) -> dict[str, Any]:
    model, small = _load(name, dtype)
    whole, tokenizer = _load(full)
    origin = getattr(model.config, _ORIGIN, None)
    if (
        not isinstance(origin, dict)
        or not {"model", "embedding_sha256"} <= origin.keys()
    ):
        raise UserError(
            f"{name}: was not cut from a model; give one that cut_vocabulary made, or one trained from it"
        )
    embedding = whole.get_input_embeddings().weight
    # Tied to its output layer, as that of the model that was cut.
    if (
        whole.get_output_embeddings().weight is not embedding
        or _digest(embedding) != origin["embedding_sha256"]
    ):
        raise UserError(
            f"{full}: is not the model that {name} was cut from, which was {origin['model']}"
        )
    rows = range(model.get_input_embeddings().num_embeddings)
    old = tokenizer.convert_tokens_to_ids(small.convert_ids_to_tokens(rows))
    whole = whole.to(model.dtype)
    before, weights = _logits(model, rows), whole.state_dict()
    for key, trained in model.state_dict().items():
        weights[key][old if trained.shape != weights[key].shape else ...] = trained
    tokenizer.chat_template = small.chat_template
    _save(whole, tokenizer, name, partial)
    record = {"tokens": len(rows), "tokens_untrained": len(tokenizer) - len(rows)}
    write_json(
        partial / "restored.json",
        {"model": name, "full": full, **record, **provenance()},
    )
    _compare(name, before, _logits(load_model(str(partial))[0], old))
    return record


def merges_of(
    token: str, ranks: dict[tuple[str, str], int]
) -> Iterator[tuple[str, str]]:
    """The merges by which BPE makes a token of its characters: the earliest of the list first, from left to right.

    Within any text it makes the token by the same ones: no merge over the token's ends can have come between.

    >>> list(merges_of("abc", {("b", "c"): 0, ("a", "b"): 1, ("a", "bc"): 2}))
    [('b', 'c'), ('a', 'bc')]
    """
    symbols = list(token)
    while len(symbols) > 1:
        rank, place = min(
            (ranks.get(pair, math.inf), place)
            for place, pair in enumerate(pairwise(symbols))
        )
        if rank == math.inf:
            return
        yield symbols[place], symbols[place + 1]
        symbols[place : place + 2] = ["".join(symbols[place : place + 2])]


def _bpe(name: str, tokenizer: Any) -> dict[str, Any]:
    """The tokenizer as tokenizer.json has it, added tokens in the vocabulary too."""
    if not tokenizer.is_fast:
        raise UserError(
            f"{name}: only a tokenizer of the library tokenizers (tokenizer.json) can be cut"
        )
    whole: dict[str, Any] = json.loads(tokenizer.backend_tokenizer.to_str())
    model = whole["model"]
    if model["type"] != "BPE" or any(model[key] for key in _ODD):
        odd = [model["type"], *(key for key in _ODD if model.get(key))]
        raise UserError(
            f"{name}: only a plain BPE tokenizer can be cut, not {' with '.join(odd)}"
        )
    model["vocab"] |= {added["content"]: added["id"] for added in whole["added_tokens"]}
    return whole


def _cut(whole: dict[str, Any], kept: set[int]) -> tuple[dict[str, Any], list[int]]:
    """The tokenizer with the tokens numbered `kept` and what they need, and the old numbers of its tokens.

    Of the merges those stay that make one of the tokens. In a text of these tokens BPE applies no others: at each step
    the merges that are left hold the one that was applied, and no earlier one.
    """
    from tokenizers.pre_tokenizers import ByteLevel

    model = whole["model"]
    number: dict[str, int] = model["vocab"]
    merges = [tuple(merge) for merge in model["merges"]]
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    tokens = {token for token, old in number.items() if old in kept}
    made = tokens - {token["content"] for token in whole["added_tokens"]}
    applied = {pair for token in made for pair in merges_of(token, ranks)}
    spare = (
        [f"<0x{byte:02X}>" for byte in range(256)]
        if model["byte_fallback"]
        else ByteLevel.alphabet()
    )
    tokens.update(
        spare,
        [model["unk_token"]],
        *made,
        *((*pair, "".join(pair)) for pair in applied),
    )
    left = sorted(tokens & number.keys(), key=number.__getitem__)
    new = {token: k for k, token in enumerate(left)}
    added = [
        {**token, "id": new[token["content"]]}
        for token in whole["added_tokens"]
        if token["content"] in new
    ]
    parts = {"vocab": new, "merges": [pair for pair in merges if pair in applied]}
    processor = _renumbered(whole["post_processor"], new)
    cut = {
        **whole,
        "model": model | parts,
        "added_tokens": added,
        "post_processor": processor,
    }
    return cut, [number[token] for token in left]


def _renumbered(node: Any, new: dict[str, int]) -> Any:
    """A post-processor, or a part of one, with the new numbers of the tokens that it adds."""
    if isinstance(node, list):
        return [_renumbered(one, new) for one in node]
    if not isinstance(node, dict):
        return node
    if "tokens" in node:
        return {**node, "ids": [new[token] for token in node["tokens"]]}
    return {key: _renumbered(one, new) for key, one in node.items()}


def _needed(
    name: str, tokenizer: Any, nouns: list[str], texts: Sequence[str]
) -> list[str]:
    """What must give the same tokens: prompts as they are asked, answers behind them, each noun in each place."""
    form, cycle = trained_form(name), nouns + nouns[:NUM_WORDS]
    lists = [
        write_list(cycle[first : first + NUM_WORDS]) for first in range(len(nouns))
    ]
    talks = bool(tokenizer.chat_template)
    prompts: list[Any] = [form.prompt(text, conversational=talks) for text in texts]
    answered = [prompts[0] + as_completion(one, conversational=talks) for one in lists]
    if talks:
        options = {"tokenize": False, **form.arguments}
        prompts = tokenizer.apply_chat_template(
            prompts, add_generation_prompt=True, **options
        )
        answered = tokenizer.apply_chat_template(answered, **options)
    # Behind the last noun comes the end, or whatever a line break begins.
    return [*texts, *prompts, *answered, *(f"\n{one}\n1. " for one in lists)]


def _settings(model: Any) -> list[tuple[Any, str, Any]]:
    """Settings that name tokens by number, one or several: whose they are, what they are called, the numbers."""
    configs = (model.config, model.config.get_text_config(), model.generation_config)
    ends = ("_token_id", "_token_index")
    settings = [
        (c, *item)
        for c in {id(c): c for c in configs}.values()
        for item in c.to_dict().items()
    ]
    return [
        setting
        for setting in settings
        if setting[1].endswith(ends) and setting[2] is not None
    ]


def _digest(weight: Any) -> str:
    """Of an embedding's numbers, in whatever precision they are held."""
    return hashlib.sha256(weight.detach().float().contiguous().numpy()).hexdigest()


def _logits(model: Any, numbers: Sequence[int]) -> list[Any]:
    """Logits of a cut model's tokens behind some of them, drawn at random; `numbers` are theirs in this model."""
    import torch

    rng, rows = np.random.default_rng(0), torch.tensor(numbers)
    drawn = [
        rows[torch.from_numpy(rng.integers(len(rows), size=_PROBE_TOKENS))]
        for _ in range(_PROBES)
    ]
    with torch.inference_mode():
        return [model(input_ids=ids[None]).logits[0][:, rows].float() for ids in drawn]


def _load(name: str, dtype: str = "auto") -> tuple[Any, Any]:
    check_model(name)
    path, revision = pinned(name, None)
    return load_model(path, revision=revision, dtype=dtype, merged=True)


def _save(model: Any, tokenizer: Any, source: str, partial: Path) -> None:
    """Write a model where it waits for its checks, with the source's record of how it was asked."""
    with room(partial, model.num_parameters() * model.dtype.itemsize):
        model.save_pretrained(partial)
        tokenizer.save_pretrained(partial)
    if record := record_of(Path(source)):
        shutil.copy(record, partial)


def _compare(name: str, before: list[Any], after: list[Any]) -> None:
    """UserError if logits are not as they were."""
    if worst := max(
        float((one - other).abs().max())
        for one, other in zip(before, after, strict=True)
    ):
        raise UserError(
            f"{name}: logits of tokens that were kept differ by {worst:.2g}; this model cannot be cut"
        )
