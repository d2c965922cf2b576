"""A model with fewer tokens: those that given texts need, cut from its vocabulary, and the way back.

Most rows of a small model's embedding are of tokens that a list of nouns never uses. Without them it trains in a
fraction of the time and memory, and no probability is lost to them. What was trained can be put back into the whole
model: the tokens that were cut keep their old rows, which the training never saw.
"""

import hashlib
import json
import math
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sozo.data.errors import UserError
from sozo.data.prompts import prompt
from sozo.data.prompts.form import PromptForm, trained_form
from sozo.data.record import provenance, room, write_json
from sozo.models.weights import check_model, load_model, pinned
from sozo.scoring.parse import NUM_WORDS, write_list

_PROBES, _PROBE_TOKENS = 4, 128  # rows whose logits are compared, and the tokens of each
_IDS = ("_token_id", "_token_ids", "_token_index")  # how settings end that name tokens by number
_OLD = "cut_from"  # in a cut model's config, so that every model trained from it has it too


def cut_vocabulary(
    name: str, output: Path, nouns: Sequence[str], texts: Iterable[str] = (), dtype: str = "auto"
) -> dict[str, Any]:
    """Write into `output` the model `name` with the tokens of DAT lists of `nouns` and of `texts`; what was done.

    It cuts the DAT prompt, each of `texts` (asked as a prompt too), and lists of these nouns in any order into the same
    tokens as before, and gives these tokens the same logits to the bit; both are checked. Single bytes stay as well, so
    that no text is refused. A LoRA adapter is merged. A UserError where the tokenizer is no plain BPE, where the output
    layer is not the embedding, or where a check fails.

    >>> cut_vocabulary("runs/base", Path("runs/cut"), nouns)["tokens"]  # doctest: +SKIP
    4526
    """
    nouns = list(dict.fromkeys(nouns))
    if len(nouns) < NUM_WORDS:
        raise UserError(f"a list has {NUM_WORDS} nouns, and only {len(nouns)} different ones are given")
    _check(output, name)
    path, revision = pinned(name, None)
    model, tokenizer = load_model(path, revision=revision, dtype=dtype, merged=True)
    embedding = model.get_input_embeddings().weight
    if model.get_output_embeddings().weight is not embedding:
        raise UserError(f"{name}: its output layer is not its embedding; only a model with tied ones can be cut")
    needed = _needed(tokenizer, nouns, list(texts), trained_form(name))
    kept = {*tokenizer.all_special_ids, *(i for c in _configs(model) for _, ids in _numbers(c) for i in ids)}
    whole = _backend(name, tokenizer)
    pipeline, old = _cut_pipeline(whole, {token for text in needed for token in tokenizer.tokenize(text)}, kept)
    before, parameters = _logits(model, old), model.num_parameters()
    origin = {"model": name, "embedding_sha256": _digest(embedding)}
    embedding.data[: len(old)] = embedding.data[old]
    model.resize_token_embeddings(len(old))
    new = {token: number for number, token in enumerate(old)}
    for config in _configs(model):
        for key, ids in list(_numbers(config)):
            left = [new[number] for number in ids if number in new]
            setattr(config, key, left if isinstance(getattr(config, key), list) else next(iter(left), None))
    setattr(model.config, _OLD, origin)
    record = {
        **origin,
        "tokens": len(old),
        "tokens_before": len(whole["model"]["vocab"]),
        "parameters": model.num_parameters(),
        "parameters_before": parameters,
        "nouns": len(nouns),
        "old_ids": old,
        **provenance(),
    }
    with room(output.parent, model.num_parameters() * model.dtype.itemsize):
        partial = _saved(model, tokenizer, name, output, "cut.json", record)
    (partial / "tokenizer.json").write_text(json.dumps(pipeline, ensure_ascii=False), "utf-8")
    (partial / "nouns.txt").write_text("\n".join(nouns) + "\n", "utf-8")
    model, small = load_model(str(partial))
    for text in needed:
        if (pieces := tokenizer.tokenize(text)) != (cut := small.tokenize(text)):
            raise UserError(f"{name}: this tokenizer cannot be cut: {text[-40:]!r} would be {cut}, not {pieces}")
    if len(small) != len(old) or small.convert_ids_to_tokens(range(len(old))) != tokenizer.convert_ids_to_tokens(old):
        raise UserError(f"{name}: this tokenizer cannot be cut: its class does not take the tokens as they are")
    _check_equal(before, _logits(model, range(len(old))), name)
    partial.rename(output)
    return record


def restore_vocabulary(name: str, full: str, output: Path, dtype: str = "auto") -> dict[str, Any]:
    """Write into `output` the model `full` with the weights of `name`, cut from it and trained; what was done.

    Tokens that were cut away keep the rows of `full`. All others have the same logits as in `name` to the bit, which is
    checked. A UserError where `name` was not cut from `full`.
    """
    _check(output, name, full)
    (path, _), (full_path, revision) = pinned(name, None), pinned(full, None)
    model, small = load_model(path, dtype=dtype, merged=True)
    whole, tokenizer = load_model(full_path, revision=revision, merged=True)
    origin = getattr(model.config, _OLD, None)
    if origin is None:
        raise UserError(f"{name}: was not cut from a model; give one that cut_vocabulary made, or one trained from it")
    if _digest(whole.get_input_embeddings().weight) != origin["embedding_sha256"]:
        raise UserError(f"{full}: is not the model that {name} was cut from, which was {origin['model']}")
    whole = whole.to(model.dtype)
    rows = model.get_input_embeddings().num_embeddings
    old = tokenizer.convert_tokens_to_ids(small.convert_ids_to_tokens(range(rows)))
    before, weights = _logits(model, range(rows)), whole.state_dict()
    for key, trained in model.state_dict().items():
        if trained.shape == weights[key].shape:
            weights[key].copy_(trained)
        else:
            weights[key][old] = trained
    tokenizer.chat_template = small.chat_template
    record = {"model": name, "full": full, "tokens": rows, "tokens_untrained": len(tokenizer) - rows, **provenance()}
    with room(output.parent, whole.num_parameters() * whole.dtype.itemsize):
        partial = _saved(whole, tokenizer, name, output, "restored.json", record)
    whole, tokenizer = load_model(str(partial))
    _check_equal(before, _logits(whole, old), name)
    partial.rename(output)
    return record


def merges_of(token: str, ranks: dict[tuple[str, str], int]) -> Iterator[tuple[str, str]]:
    """The merges by which BPE makes a token of its characters: the earliest of the list first, from left to right.

    Within any text it makes the token by the same ones: no merge over the token's ends can have come between.

    >>> list(merges_of("abc", {("b", "c"): 0, ("a", "b"): 1, ("a", "bc"): 2}))
    [('b', 'c'), ('a', 'bc')]
    """
    symbols = list(token)
    while len(symbols) > 1:
        rank, place = min((ranks.get(pair, math.inf), place) for place, pair in enumerate(pairwise(symbols)))
        if rank == math.inf:
            return
        yield symbols[place], symbols[place + 1]
        symbols[place : place + 2] = ["".join(symbols[place : place + 2])]


def _backend(name: str, tokenizer: Any) -> dict[str, Any]:
    """The tokenizer as `tokenizers` writes it, all its tokens in the model's vocabulary."""
    if not tokenizer.is_fast:
        raise UserError(f"{name}: only a tokenizer of the library tokenizers (tokenizer.json) can be cut")
    whole = json.loads(tokenizer.backend_tokenizer.to_str())
    model = whole["model"]
    odd = [key for key in ("continuing_subword_prefix", "end_of_word_suffix", "dropout") if model.get(key)]
    if model["type"] != "BPE" or odd:
        raise UserError(f"{name}: only a plain BPE tokenizer can be cut, not {' with '.join([model['type'], *odd])}")
    model["vocab"] |= {added["content"]: added["id"] for added in whole["added_tokens"]}
    return whole


def _cut_pipeline(whole: dict[str, Any], tokens: set[str], kept: set[int]) -> tuple[dict[str, Any], list[int]]:
    """The tokenizer with `tokens`, the numbers `kept`, and what they need; and the old numbers of its tokens.

    Of the merges those stay that make one of the tokens. In a text of these tokens BPE applies no others: at each step
    the merges that are left hold the one that was applied, and no earlier one.
    """
    from tokenizers.pre_tokenizers import ByteLevel

    model, number = whole["model"], whole["model"]["vocab"]
    merges = [tuple(merge) for merge in model["merges"]]
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    applied = {pair for token in tokens for pair in merges_of(token, ranks)}
    spare = [f"<0x{byte:02X}>" for byte in range(256)] if model["byte_fallback"] else ByteLevel.alphabet()
    parts = {part for pair in applied for part in (*pair, "".join(pair))}
    names = tokens | parts | {model["unk_token"], *spare, *_processed(whole["post_processor"])}
    old = sorted(kept & set(number.values()) | {number[token] for token in names if token in number})
    new = {old_id: new_id for new_id, old_id in enumerate(old)}
    of_token = {token: new[old_id] for token, old_id in number.items() if old_id in new}
    added = [{**a, "id": of_token[a["content"]]} for a in whole["added_tokens"] if a["content"] in of_token]
    left = {"vocab": of_token, "merges": [pair for pair in merges if pair in applied]}
    processor = _renumbered(whole["post_processor"], of_token)
    return {**whole, "model": {**model, **left}, "added_tokens": added, "post_processor": processor}, old


def _processed(processor: Any) -> Iterator[str]:
    """The tokens that a post-processor adds."""
    for part in (processor or {}).get("processors", [processor or {}]):
        yield from (token for special in part.get("special_tokens", {}).values() for token in special["tokens"])
        yield from (part[key][0] for key in ("cls", "sep") if key in part)


def _renumbered(processor: Any, number: dict[str, int]) -> Any:
    """The post-processor with the tokens' new numbers."""
    if not processor:
        return processor
    if "processors" in processor:
        return {**processor, "processors": [_renumbered(part, number) for part in processor["processors"]]}
    specials = {
        name: {**special, "ids": [number[token] for token in special["tokens"]]}
        for name, special in processor.get("special_tokens", {}).items()
    }
    pairs = {key: [processor[key][0], number[processor[key][0]]] for key in ("cls", "sep") if key in processor}
    return processor | ({"special_tokens": specials} if specials else {}) | pairs


def _needed(tokenizer: Any, nouns: Sequence[str], texts: list[str], form: PromptForm) -> list[str]:
    """What must give the same tokens: prompts as they are asked, answers behind them, each noun in each place."""
    conversational = bool(getattr(tokenizer, "chat_template", None))

    def said(text: str, answer: str | None = None) -> str:
        asked = form.prompt(text, conversational=conversational)
        if isinstance(asked, str):
            return f"{asked}{answer or ''}"
        turns = [*asked, *([{"role": "assistant", "content": answer}] if answer else [])]
        options = {"add_generation_prompt": answer is None, **form.arguments}
        return str(tokenizer.apply_chat_template(turns, tokenize=False, **options))

    cycle = [*nouns, *nouns[:NUM_WORDS]]
    lists = [write_list(cycle[start : start + NUM_WORDS]) for start in range(len(nouns))]
    prompts = [prompt("dat"), *texts]
    # Behind the last noun comes the end, or whatever a line break begins.
    return [*texts, *map(said, prompts), *(said(prompts[0], one) for one in lists), *(f"\n{one}\n1. " for one in lists)]


def _configs(model: Any) -> list[Any]:
    """What names tokens by their numbers, each once."""
    configs = (model.config, model.config.get_text_config(), model.generation_config)
    return list({id(config): config for config in configs}.values())


def _numbers(config: Any) -> Iterator[tuple[str, list[int]]]:
    """Settings that are numbers of tokens, or lists of these."""
    for name, value in config.to_dict().items():
        if name.endswith(_IDS) and value is not None:
            yield name, value if isinstance(value, list) else [value]


def _digest(weight: Any) -> str:
    """Of an embedding's numbers, in whatever precision they are held."""
    return hashlib.sha256(weight.detach().float().contiguous().numpy()).hexdigest()


def _logits(model: Any, numbers: Sequence[int]) -> list[Any]:
    """Logits of a cut model's tokens behind some of them, drawn at random; `numbers` are theirs in this model."""
    import torch

    rng, rows = np.random.default_rng(0), torch.tensor(numbers)
    drawn = [rows[torch.from_numpy(rng.integers(len(rows), size=_PROBE_TOKENS))] for _ in range(_PROBES)]
    with torch.inference_mode():
        return [model(input_ids=ids[None]).logits[0][:, rows].float() for ids in drawn]


def _check_equal(before: list[Any], after: list[Any], name: str) -> None:
    import torch

    if not all(torch.equal(*pair) for pair in zip(before, after, strict=True)):
        worst = max(float((a - b).abs().max()) for a, b in zip(before, after, strict=True))
        raise UserError(f"{name}: the logits of the tokens that were kept are others, by {worst:.2g} at most")


def _check(output: Path, *names: str) -> None:
    """Refuse what can be seen before a model loads."""
    for name in names:
        check_model(name)
    if output.exists():
        raise UserError(f"{output}: exists; delete it or name another folder")


def _saved(model: Any, tokenizer: Any, source: str, output: Path, file: str, record: dict[str, Any]) -> Path:
    """The folder in which a model waits for its checks; it has the source's record of how it was asked."""
    partial = output.with_name(f"{output.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # what a kill left
    model.save_pretrained(partial)
    tokenizer.save_pretrained(partial)
    with suppress(FileNotFoundError):
        shutil.copy(Path(source) / "run_config.json", partial)
    write_json(partial / file, record)
    return partial
