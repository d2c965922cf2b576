"""What a model's text says in the end, after all reasoning, and whether it came to an end: one rule for all readers.

Answers to DAT, JCQ and SAT and the replies of judges are read by it, so that no draft is taken for the thing itself.
"""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any

from sozo.data.errors import UserError
from sozo.data.foreign import parse_json, quoted

_NAMES = "think|thinking|thought|thoughts|reason|reasoning|reflection|analysis|scratchpad|seed:think"
# How models mark their reasoning where a server does not take it out: Qwen and DeepSeek, Magistral, Kimi, OpenThinker,
# Command, MedGemma, Gemma 4, Apertus.
_OPEN = rf"<(?:{_NAMES})(?:\s[^<>]*)?>|\[think\]|◁think▷|<\|begin_of_thought\|>|<\|start_thinking\|>|<unused94>"
_OPEN += r"|<\|channel>|<\|inner_prefix\|>"
_CLOSE = rf"</(?:{_NAMES})>|\[/think\]|◁/think▷|<\|end_of_thought\|>|<\|end_thinking\|>|<unused95>"
_CLOSE += r"|<channel\|>|<\|inner_suffix\|>"
_OPENS, _CLOSES = re.compile(_OPEN, re.IGNORECASE), re.compile(_CLOSE, re.IGNORECASE)
# gpt-oss writes to channels, of which only `final` is for the reader; without its special tokens the names stay.
_CHANNEL = "<|channel|>"
_FINAL = re.compile(
    r"<\|channel\|>\s*final\b[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>|\Aanalysis\S.*assistantfinal", re.DOTALL
)
# What a chat template puts behind an answer, where a server hands it on.
_END_MARKS = (
    *("<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<|endoftext|>", "<|end|>", "<|return|>", "<|eot|>"),
    *("<|END_OF_TURN_TOKEN|>", "<end_of_turn>", "<eos>", "</s>", "<｜end▁of▁sentence｜>"),
    *("<turn|>", "<|assistant_end|>", "<|eom_id|>"),
)
# gpt-oss' tokens around a message; `<|end|>` ends its reasoning, too.
_HARMONY = {_CHANNEL, "<|message|>", "<|start|>", "<|constrain|>", "<|end|>", "<|call|>", "<|return|>"}
_TAGS = "<answer>", "</answer>"
_UNKNOWN = re.compile(r"<[|/]?[^\s<>]{1,40}>|\[[/|]?[A-Z_]{2,20}\]|◁[^\s▷]{1,40}▷")
_MOST_TOLD = 20  # unknown marks of one process
_told: set[str] = set()
# White space, and what begins a file or stands for no space at all; none of it is anything that somebody wrote.
_OUTER = "".join(character for character in map(chr, range(0x3001)) if character.isspace()) + "\ufeff\u200b\u2060"
_ENDS = re.compile(r"<\|(?:return|end|call|start)\|>.*", re.DOTALL)


def final_text(text: str) -> str | None:
    """What follows the last reasoning in a text; None where reasoning never ends.

    Many chat templates open the reasoning in the prompt, so that a text only closes it. Outer white space, the marks
    with which templates end a turn and `<answer>` tags around the rest are no part of it.

    >>> final_text("<think>亀か鶴か</think> 昔々"), final_text("亀か</thinking>昔々"), final_text(" 昔々 ")
    ('昔々', '昔々', '昔々')
    >>> final_text("<answer>昔々</answer><|im_end|>")
    '昔々'
    >>> final_text("<think>亀か"), final_text("<|channel|>analysis<|message|>亀か")
    (None, None)
    """
    text = bare(text)
    if "<" not in text and "[" not in text and "◁" not in text and not text.startswith("analysis"):
        return text  # nearly all
    text = without_end_marks(text)
    if _CHANNEL in text or text.startswith("analysis"):
        finals = list(_FINAL.finditer(text))
        if finals:
            text = _ENDS.sub("", text[finals[-1].end() :])
        elif _CHANNEL in text:
            return None
    if closes := list(_CLOSES.finditer(text)):
        text = text[closes[-1].end() :]
    if _OPENS.search(text):
        return None
    text = bare(text)
    first, last = _TAGS
    inside = text.startswith(first) and text.endswith(last)
    return bare(text[len(first) : -len(last)]) if inside else text


def bare(text: str) -> str:
    """A text without white space, byte order marks and zero-width spaces around it.

    >>> bare("\\ufeff 昔々 ")
    '昔々'
    """
    return text.strip(_OUTER)


def unknown_mark(text: str) -> str | None:
    """The mark that a final text begins with, if it is none that is known: perhaps reasoning or a template's turn.

    >>> unknown_mark("<|reflect|>亀か"), unknown_mark("<think>亀か</think>昔々")
    ('<|reflect|>', None)
    """
    if ">" not in text and "]" not in text and "▷" not in text:
        return None  # nearly all
    match = _UNKNOWN.match(final_text(text) or "")
    return match[0] if match else None


def count_unknown(texts: Iterable[str], of: str) -> int:
    """How many texts begin with a mark that is not known, which are scored as they stand; each mark is told once."""
    marks = [mark for text in texts if (mark := unknown_mark(text))]
    for mark in dict.fromkeys(marks):
        if mark not in _told and len(_told) < _MOST_TOLD:
            _told.add(mark)
            what = "answers begin with %s, a mark that sozo does not know, and are scored as they stand"
            logging.getLogger(__name__).warning(f"%s: {what}", of, mark)
    return len(marks)


def decode(tokenizer: Any, ids: Sequence[int]) -> str:
    """The text of a model's tokens up to the end of its turn, without special tokens but for marks of reasoning.

    Without those, reasoning would be left as if it were the answer (TRL decodes so).
    """
    marks, ends = _special_marks(tokenizer)
    if not ends.isdisjoint(ids):
        ids = ids[: next(k for k, token in enumerate(ids) if token in ends)]
    if marks.keys().isdisjoint(ids):
        return str(tokenizer.decode(ids, skip_special_tokens=True))
    text, before = "", 0
    for place in (*(k for k, token in enumerate(ids) if token in marks), len(ids)):
        text += tokenizer.decode(ids[before:place], skip_special_tokens=True) if before < place else ""
        text, before = text + (marks[ids[place]] if place < len(ids) else ""), place + 1
    return text


@lru_cache(8)
def _special_marks(tokenizer: Any) -> tuple[dict[int, str], set[int]]:
    """Tokens that a decoder skips: those that mark reasoning, with how they are written, and those that end a turn."""
    tokens = {k: str(token) for k, token in getattr(tokenizer, "added_tokens_decoder", {}).items() if token.special}
    harmony = _HARMONY if _CHANNEL in tokens.values() else set()
    known = re.compile(f"{_OPEN}|{_CLOSE}", re.IGNORECASE)
    marks = {k: mark for k, mark in tokens.items() if mark in harmony or known.fullmatch(mark)}
    return marks, {k for k, mark in tokens.items() if mark in _END_MARKS} - marks.keys()


def without_end_marks(text: str) -> str:
    """A text without the end-of-turn marks of chat templates behind it.

    >>> without_end_marks("傘立て<|im_end|>\\n")
    '傘立て'
    """
    end = len(text)  # found before anything is cut: a copy for each of many marks would take the square of their number
    while True:
        while end and text[end - 1] in _OUTER:
            end -= 1
        if not text.endswith(_END_MARKS, 0, end):
            return text[:end]
        end = text.rindex("<", 0, end)


def completion_text(completion: Any) -> str:
    """The answer that a completion is: the text, or the assistant's last message of a conversation (tools give either).

    A conversation that ends with anybody else's message holds no answer. Marks with which templates end a turn are no
    part of it.

    >>> completion_text([{"role": "assistant", "content": "1. 犬<|im_end|>"}])
    '1. 犬'
    >>> completion_text([{"role": "tool", "content": "1. 犬"}])
    ''
    """
    if isinstance(completion, str):
        return without_end_marks(completion)
    last = (_messages(completion) or [{}])[-1]
    return without_end_marks(_content(last)) if last.get("role", "assistant") == "assistant" else ""


def question_text(prompt: Any) -> str:
    """What a prompt asks: the text, or the user's last message of a conversation."""
    if isinstance(prompt, str):
        return prompt
    return next((_content(turn) for turn in reversed(_messages(prompt)) if turn.get("role", "user") == "user"), "")


def _messages(conversation: Any) -> Sequence[Mapping[str, Any]]:
    if isinstance(conversation, list | tuple) and all(map(_is_message, conversation)):
        return conversation
    raise UserError(f"a text or a conversation was expected, not {quoted(conversation)}")


def _is_message(message: Any) -> bool:
    return isinstance(message, Mapping) and not {"role", "content", "type"}.isdisjoint(message)


def _content(message: Mapping[str, Any]) -> str:
    """The text of a message: its content is text, null, or parts, of which those of text count."""
    content = message.get("content")
    parts = [{"text": content}] if isinstance(content, str | None) else content
    try:
        texts = [part["text"] or "" for part in parts if part.get("type", "text") in ("text", "output_text")]
        return "".join(texts)
    except (TypeError, AttributeError, KeyError):
        raise UserError(f"a message's content must be text, parts or null, not {quoted(content)}") from None


def one_json(final: str) -> Any:
    """The one JSON value that a final text is, but for a code fence around it; ValueError where it is anything else.

    >>> one_json('```json\\n{"score": 3}\\n```')
    {'score': 3}
    """
    first, _, rest = final.partition("\n")
    body, _, last = rest.rpartition("\n")
    fenced = first.rstrip() in ("```", "```json") and last.strip() == "```"
    return parse_json(body if fenced else final)


def judged_part(text: str) -> str:
    """What is judged of a model's answer: its final text, nothing where there is none; without reasoning, as it is.

    A judge would count the ideas of reasoning as the answer's.

    >>> [judged_part(text) for text in ("<think>案</think>傘立て", "案</think>傘立て", "<think>案", " 傘立て ")]
    ['傘立て', '傘立て', '', ' 傘立て ']
    """
    final = final_text(text)
    return text if final == bare(text) else final or ""


class Ending(StrEnum):
    """How a text ended, by what the generator or a server says of it (`finish_reason`, in anybody's words)."""

    WELL = "well"
    CUT = "truncated"  # at the length limit
    FILTERED = "filtered"  # by the model's provider
    BADLY = "error"  # an error, a call of a tool, or a word that nobody knows


_WORDS = {
    Ending.WELL: "stop end_turn stop_sequence eos eos_token completed complete end finished",
    Ending.CUT: "length max_tokens max_output_tokens model_length max_length model_context_window_exceeded incomplete",
    Ending.FILTERED: "content_filter refusal safety recitation blocklist prohibited_content spii sensitive",
}
_ENDINGS = {word: ending for ending, words in _WORDS.items() for word in words.split()}


def ending(finish_reason: str | None) -> Ending:
    """The ending that a finish reason stands for; where nothing is said, a text ended well.

    >>> [str(ending(reason)) for reason in (None, "stop", "MAX_TOKENS", "refusal", "tool_calls")]
    ['well', 'well', 'truncated', 'filtered', 'error']
    """
    return _ENDINGS.get((finish_reason or "stop").strip().lower().replace("-", "_"), Ending.BADLY)


STATES = ("whole", "truncated", "filtered", "error", "empty")


def answer_state(text: str, finish_reason: str | None) -> str:
    """What became of an answer, one of STATES: whether it came to a good end and says anything.

    >>> answer_state("傘立て", "stop"), answer_state("傘", "length"), answer_state("<think>案</think>。", None)
    ('whole', 'truncated', 'empty')
    """
    end = ending(finish_reason)
    if end is not Ending.WELL:
        return str(end)
    return "whole" if any(character.isalnum() for character in judged_part(text)) else "empty"
