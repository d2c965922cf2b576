"""What a model's text says in the end, after all reasoning, and whether it came to an end: one rule for all readers.

Answers to DAT, JCQ and SAT and the replies of judges are read by it, so that no draft is taken for the thing itself.
"""

import csv
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from typing import Any

from sozo.data.errors import UserError
from sozo.data.foreign import parse_json, quoted, strip_steering
from sozo.data.schema import ERROR

# The marks of `marks.csv`, each with the model that writes it. Reasoning may stand anywhere, and in whatever letters; an
# opening in words only at the beginning; tags of an answer around all of it; ends and pads behind it.
_TABLE = tuple(
    csv.DictReader(
        files(__package__).joinpath("marks.csv").read_text("utf-8").splitlines()
    )
)


def _rows(kind: str) -> Iterator[dict[str, str]]:
    return (row for row in _TABLE if row["kind"] == kind)


_PAIRS = {row["first"]: row["last"] for row in _rows("reasoning") if row["first"]}
_CLOSINGS = [row["last"] for row in _rows("reasoning")]
_NAMES = "|".join(
    name[1:-1] for name in _PAIRS if re.fullmatch(r"<[a-z][a-z_:]*>", name)
)
_MARKS = re.compile(
    rf"<(?:{_NAMES})\s[^<>]*>|{'|'.join(map(re.escape, [*_PAIRS, *_CLOSINGS]))}",
    re.IGNORECASE,
)
# By the words that open reasoning those that close it, in all forms that a model has.
_OPENINGS = {
    row["first"]: tuple(
        other["last"] for other in _rows("opening") if other["model"] == row["model"]
    )
    for row in _rows("opening")
}
_TAGS = [(row["first"], row["last"]) for row in _rows("answer")]
_END_MARKS = tuple(row["last"] for row in _rows("end"))
_BEHIND = (*_END_MARKS, *(row["last"] for row in _rows("pad")))
_LAST_OF_MARKS = frozenset(mark[-1] for mark in _BEHIND)
# gpt-oss writes to channels, of which only `final` is for the reader; without its special tokens the names stay.
_CHANNEL = "<|channel|>"
_START = "<|start|>"
_FINAL = re.compile(
    r"(?:\s*assistant)?\s*<\|channel\|>\s*final\s*(?:<\|constrain\|>[^<]*)?<\|message\|>"
)
_BARE = ("analysis", "commentary", "assistant")
_BARE_FINAL = re.compile(r"(?:(?:analysis|commentary).*)?assistantfinal", re.DOTALL)
_END = re.compile(r"<\|(?:return|end|call)\|>")
# gpt-oss' tokens around a message; `<|end|>` ends its reasoning, too.
_HARMONY = {
    _CHANNEL,
    "<|message|>",
    _START,
    "<|constrain|>",
    "<|end|>",
    "<|call|>",
    "<|return|>",
}
_IN_WORDS = (*_BARE, *_OPENINGS)  # how a text may begin whose marks are words
_UNKNOWN = re.compile(r"<[|/]?[^\s<>]{1,40}>|\[[/|]?[A-Z_]{2,20}\]|◁[^\s▷]{1,40}▷")
_TOKEN = re.compile(r"<[|｜][^\s<>|｜]{1,40}[|｜]>")
_MANY = 3  # texts of one call
_MOST_MARK = 43  # characters
# `<犬>` is a word
_UNKNOWN_END = re.compile(r"(?:<[!-;=?-~]{1,40}>|\[[/|]?[A-Z_]{2,20}\])\Z")
_MOST_TOLD = 20  # unknown marks of one process
_told: set[str] = set()
# White space, and what begins a file or stands for no space at all; none of it is anything that somebody wrote.
OUTER = (
    "".join(character for character in map(chr, range(0x3001)) if character.isspace())
    + "\ufeff\u200b\u2060"
)


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
    if (
        "<" not in text
        and "[" not in text
        and "◁" not in text
        and not text.startswith(_IN_WORDS)
    ):
        return text  # nearly all
    answer = _final_message(without_end_marks(text))
    answer = None if answer is None else _after_reasoning(answer)
    if answer is None:
        return None
    answer = bare(answer)
    for first, last in _TAGS:
        if (
            answer[: len(first)].lower() == first
            and answer[-len(last) :].lower() == last
        ):
            return bare(answer[len(first) : -len(last)])
    return answer


def _final_message(text: str) -> str | None:
    """What gpt-oss says to the reader in its last message, without an end mark; any other model's text as it is.

    A message to a tool, or of anybody else, is none of that, and neither is what only looks like a message in another.
    """
    if _CHANNEL not in text:
        bare_final = _BARE_FINAL.match(text)
        return text[bare_final.end() :] if bare_final else text
    last = text.split(_START)[-1]
    if not (head := _FINAL.match(last)):
        return None
    said = last[head.end() :]
    end = _END.search(said)
    if end and end[0] == "<|call|>":
        return None
    return said[: end.start()] if end else said


def _after_reasoning(text: str) -> str | None:
    """What follows the last reasoning; None where one is open that its own mark does not close."""
    for opening, closings in _OPENINGS.items():
        if text.startswith(opening):
            ends = [
                place + len(last)
                for last in closings
                if (place := text.find(last, len(opening))) >= 0
            ]
            if not ends:
                return None
            text = text[min(ends) :]
            break
    closing = ""
    end = 0
    for match in _MARKS.finditer(text):
        mark = re.sub(r"\s.*", ">", match[0].lower(), flags=re.DOTALL)
        if not closing:
            closing = _PAIRS.get(mark, "")
            end = match.end()
        elif mark == closing:
            closing = ""
            end = match.end()
    return None if closing else text[end:]


def bare(text: str) -> str:
    """A text without white space, byte order marks and zero-width spaces around it.

    >>> bare("\\ufeff 昔々 ")
    '昔々'
    """
    return text.strip(OUTER)


def unknown_mark(text: str) -> str | None:
    """The mark that a final text begins or ends with, if it is none that is known: perhaps reasoning or a turn.

    >>> unknown_mark("<|reflect|>亀か"), unknown_mark("<think>亀か</think>昔々")
    ('<|reflect|>', None)
    """
    if ">" not in text and "]" not in text and "▷" not in text:
        return None  # nearly all
    final = final_text(text) or ""
    match = _UNKNOWN.match(final) or _UNKNOWN_END.search(final, len(final) - _MOST_MARK)
    return match[0] if match else None


def count_unknown(texts: Iterable[str], where: str) -> int:
    """How many texts have an unknown mark at an end, which are scored as they stand.

    Each mark is told once, with how many texts have it; so is one within that many texts have.
    """
    texts = list(texts)
    ends = Counter(mark for text in texts if (mark := unknown_mark(text)))
    within = Counter(mark for text in texts for mark in _marks_within(text))
    known = {mark: (n, "begin or end with") for mark, n in ends.items()}
    many = {mark: (n, "have") for mark, n in within.items() if n >= _MANY}
    for mark, (count, how) in (many | known).items():
        if mark not in _told and len(_told) < _MOST_TOLD:
            _told.add(mark)
            what = f"{count:,} of {len(texts):,} answers {how} {strip_steering(mark)}"
            why = "a mark that sozo does not know, and are scored as they stand"
            logging.getLogger(__name__).warning("%s: %s, %s", where, what, why)
    return ends.total()


def _marks_within(text: str) -> set[str]:
    """What looks like a special token that is not known, wherever it stands in a final text."""
    if "|>" not in text and "｜>" not in text:
        return set()  # nearly all
    return set(_TOKEN.findall(final_text(text) or ""))


def decode(tokenizer: Any, ids: Sequence[int]) -> str:
    """The text of a model's tokens up to the end of its turn, without special tokens but for marks of reasoning.

    Without those, reasoning would be left as if it were the answer (TRL decodes so).
    """
    marks, ends = _special_marks(tokenizer)
    if not ends.isdisjoint(ids):
        ids = ids[: next(k for k, token in enumerate(ids) if token in ends)]
    if marks.keys().isdisjoint(ids):
        return str(tokenizer.decode(ids, skip_special_tokens=True))
    text = ""
    before = 0
    for place in (*(k for k, token in enumerate(ids) if token in marks), len(ids)):
        text += (
            tokenizer.decode(ids[before:place], skip_special_tokens=True)
            if before < place
            else ""
        )
        text = text + (marks[ids[place]] if place < len(ids) else "")
        before = place + 1
    return text


@lru_cache(8)
def _special_marks(tokenizer: Any) -> tuple[dict[int, str], set[int]]:
    """Tokens that a decoder skips: those that mark reasoning, with how they are written, and those that end a turn."""
    tokens = {
        k: str(token)
        for k, token in getattr(tokenizer, "added_tokens_decoder", {}).items()
        if token.special
    }
    harmony = _HARMONY if _CHANNEL in tokens.values() else set()
    marks = {
        k: mark
        for k, mark in tokens.items()
        if mark in harmony or _MARKS.fullmatch(mark)
    }
    return marks, {k for k, mark in tokens.items() if mark in _END_MARKS} - marks.keys()


def without_end_marks(text: str) -> str:
    """A text without the end-of-turn marks of chat templates behind it.

    >>> without_end_marks("傘立て<|im_end|>\\n")
    '傘立て'
    """
    # Found before anything is cut: a copy for each of many marks would take the square of their number
    end = len(text)
    while True:
        while end and text[end - 1] in OUTER:
            end -= 1
        # Nearly none, and cheaper to ask
        if text[end - 1 : end] not in _LAST_OF_MARKS or not text.endswith(
            _BEHIND, 0, end
        ):
            return text[:end]
        end -= next(len(mark) for mark in _BEHIND if text.endswith(mark, 0, end))


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
    return without_end_marks(said_in(last)[0] or "") if _role(last) in _MODEL else ""


def question_text(prompt: Any) -> str:
    """What a prompt asks: the text, or the user's last message of a conversation."""
    if isinstance(prompt, str):
        return prompt
    return next(
        (
            said_in(turn)[0] or ""
            for turn in reversed(_messages(prompt))
            if _role(turn, "user") in ("user", "human")
        ),
        "",
    )


def _messages(conversation: Any) -> Sequence[Mapping[str, Any]]:
    if not (
        isinstance(conversation, list | tuple) and all(map(_is_message, conversation))
    ):
        raise UserError(
            f"a text or a conversation was expected, not {quoted(conversation)}"
        )
    for message in conversation:
        said_in(message)  # what is no text is refused wherever it stands
    if conversation and not _role(conversation[-1]):
        raise UserError(
            "the last message of a conversation says that nobody wrote it; give its role"
        )
    return conversation


def _is_message(message: Any) -> bool:
    if not isinstance(message, Mapping) or {"role", "content", "type"}.isdisjoint(
        message
    ):
        return False
    return isinstance(message.get("role"), str | None)


_MODEL = ("assistant", "model", "ai", "bot", "chatbot", "gpt")  # who answers
_OTHERS = ("user", "human", "system", "developer", "tool", "function")


def _role(message: Mapping[str, Any], default: str = "assistant") -> str:
    """Who wrote a message, in small letters; some tools call it the type. Empty where it says that nobody did."""
    kind = message.get("type")
    kind = kind.casefold() if isinstance(kind, str) else ""
    if kind in (*_MODEL, *_OTHERS) and not message.get("role"):
        return kind
    # In parquet whatever has no role has null, and so has a reply's message a type.
    role = message.get("role", default)
    return (role or (default if kind == "message" else "")).casefold()


def said_in(message: Mapping[str, Any]) -> tuple[str | None, bool]:
    """The text of a message, or else of its refusal, and whether it is one; None where its content is null.

    The content is text, parts, or null. Of parts those count that are texts, whatever letters their type is in, and no
    thoughts.

    >>> said_in({"content": [{"text": "案", "thought": True}, {"type": "Text", "text": "傘"}]})
    ('傘', False)
    >>> said_in({"content": None, "refusal": "いいえ"})
    ('いいえ', True)
    """
    content = message.get("content", message.get("parts"))  # as Gemini calls it
    refusal = message.get("refusal")
    try:
        text, parts = content, []
        if not isinstance(content, str | None):
            parts = list(map(_piece, content))
            text = _joined(parts, "text")
        refusal = refusal or _joined(parts, "refusal") or ""
        if not isinstance(refusal, str):
            raise TypeError
    except (TypeError, AttributeError, KeyError):
        raise UserError(
            f"a message's content must be text, parts or null, not {quoted(content)}"
        ) from None
    return (text or refusal or text), bool(refusal)


def _piece(piece: Any) -> tuple[str, str | None]:
    """What a part of a message is (text, refusal, or what nobody reads), and what it says."""
    kind = piece.get("type")
    if kind is None:  # whose type is no text has no `casefold`, and is refused
        kind = "text" if "text" in piece else "other"
    kind = kind.casefold().removeprefix("output_")
    if kind not in ("text", "refusal") or piece.get("thought"):
        return "other", ""
    return kind, piece[kind]


def _joined(parts: Iterable[tuple[str, str | None]], kind: str) -> str | None:
    """What the parts of a kind say; None where there are some, and all are null."""
    said = [text for of, text in parts if of == kind]
    filled = [text for text in said if text is not None]
    return "".join(filled) if filled or not said else None


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
    CUT = "cut"  # at the length limit
    REFUSED = "refusal"  # by the model
    FILTERED = "filtered"  # by the model's provider
    FORM = "wrong_form"  # which its task says of it
    BADLY = ERROR  # an error, a call of a tool, or a word that nobody knows


_WORDS = {
    Ending.WELL: "stop end_turn stop_sequence eos eos_token completed complete end finished",
    Ending.CUT: "length max_tokens max_output_tokens model_length max_length incomplete truncated cut"
    " model_context_window_exceeded",
    Ending.REFUSED: "refusal refused",
    Ending.FILTERED: "content_filter safety recitation blocklist prohibited_content spii sensitive filtered"
    " image_safety language",
}
_ENDINGS = {word: ending for ending, words in _WORDS.items() for word in words.split()}


def ending(finish_reason: str | None) -> Ending:
    """The ending that a finish reason stands for; where nothing is said, a text ended well.

    >>> [str(ending(reason)) for reason in (None, "stop", "MAX_TOKENS", "refusal", "tool_calls")]
    ['well', 'well', 'cut', 'refusal', 'error']
    """
    return _ENDINGS.get(
        (finish_reason or "stop").strip().lower().replace("-", "_"), Ending.BADLY
    )


COMPLETE, NO_TEXT = "complete", "no_text"
# What can become of an answer, whoever wrote it and whatever was asked; ERROR never came, or ended in an error.
STATES = (
    COMPLETE,
    *(str(end) for end in (Ending.CUT, Ending.REFUSED, Ending.FILTERED)),
    NO_TEXT,
    str(Ending.FORM),
    ERROR,
)
NOT_AT_HAND = "not_at_hand"  # the state, and the finish reason, of an answer of which only its judgement is known
_SORRY = re.compile(
    r"(?:大変)?申し訳(?:ありません|ございません)|すみません|恐れ入りますが|"
    r"I'm sorry|I am sorry|I can(?:'t|not)|As an AI"
)
_CANNOT = re.compile(
    r"できません|できかね|いたしかね|お応え|cannot|can't|unable|not able"
)
_HEAD = 200  # characters


def answer_state(text: str, finish_reason: str | None, *, formed: bool = True) -> str:
    """What became of an answer, one of STATES or NOT_AT_HAND; `formed` says whether its task found the form asked for.

    >>> answer_state("傘立て", "stop"), answer_state("傘", "length"), answer_state("傘", None, formed=False)
    ('complete', 'cut', 'wrong_form')
    >>> answer_state("<think>案", "length"), answer_state("申し訳ありませんが、お答えできません。", "stop")
    ('no_text', 'refusal')
    """
    end = ending(finish_reason)
    if finish_reason == NOT_AT_HAND:
        return NOT_AT_HAND
    said = judged_part(text)
    ended = end in (Ending.REFUSED, Ending.FILTERED)
    if not (ended or says_anything(said)):
        return ERROR if finish_reason == ERROR else NO_TEXT
    if end is not Ending.WELL:
        return str(end)
    if refuses(said):
        return str(Ending.REFUSED)
    return COMPLETE if formed else str(Ending.FORM)


def no_answer(answer: Any) -> str | None:
    """Why there is nothing to score, one of STATES; None where a text says something, or is not at hand.

    `answer` has `text` and `finish_reason`.
    """
    state = answer_state(answer.text, answer.finish_reason)
    return (
        None
        if state == NOT_AT_HAND or says_anything(judged_part(answer.text))
        else state
    )


def says_anything(text: str) -> bool:
    """Whether a text has a letter or a digit."""
    return any(character.isalnum() for character in text)


def refuses(text: str) -> bool:
    """Whether a text begins with words of a refusal; no model says whether it is one.

    >>> refuses("申し訳ありませんが、お答えできません。"), refuses("申し訳ありません、と彼は言った。")
    (True, False)
    """
    head = text[:_HEAD]
    return bool(_SORRY.match(head) and _CANNOT.search(head))
