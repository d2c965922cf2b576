"""How a hypothesis is asked about, and how an answer is read."""

from dataclasses import dataclass

from sozo.data.prompts import PromptName, fill, prompt
from sozo.scoring.final_text import final_text
from sozo.tasks.sipen.items import ANSWERS, SipenItem

_QUOTES = (
    ("**", "**"),
    ("*", "*"),
    ('"', '"'),
    ("'", "'"),
    ("`", "`"),
    ("“", "”"),
    ("‘", "’"),
    ("「", "」"),
    ("『", "』"),
)


@dataclass(frozen=True, slots=True)
class Form:
    """A prompt with the words of its answers."""

    prompt: PromptName
    options: tuple[str, str, str]  # as they are written, in the order of `ANSWERS`
    comma: str  # between them
    space: str  # between sentences

    def ask(self, item: SipenItem, *, context: bool = True) -> str:
        """The user's turn: the context and the premise fill one place, for the paper's prompt has no other."""
        premise = self.space.join(filter(None, (item.context * context, item.premise)))
        options = self.comma.join(self.options)
        return fill(prompt(self.prompt), options=options, premise=premise, hypothesis=item.hypothesis)

    def read(self, text: str) -> str | None:
        """The answer, one of `ANSWERS`; None of a text that is not one option and nothing else.

        After reasoning, an option may stand in quotes or bold, in any case, with a full stop.

        >>> form = FORMS["sipen-v1"]
        >>> [form.read(text) for text in ("**No.**", "<think>No</think> yes", "No, because", "いいえ")]
        ['No', 'Yes', None, None]
        """
        words = {option.casefold(): answer for option, answer in zip(self.options, ANSWERS, strict=True)}
        return words.get(_bare((final_text(text) or "").casefold()))


def _bare(text: str) -> str:
    """Without one pair of quotes and one full stop, in or behind them."""
    stopped = text[-1:] in (".", "。")
    text = text[:-1] if stopped else text
    for first, last in _QUOTES:
        if len(text) > len(first + last) and text.startswith(first) and text.endswith(last):
            text = text[len(first) : -len(last)]
            return text[:-1] if not stopped and text[-1:] in (".", "。") else text
    return text


FORMS = {
    "sipen-v1": Form("sipen", ("Yes", "No", "Maybe"), ", ", " "),  # the paper's (A.1)
    "sipen-ja-v1": Form("sipen_ja", ("はい", "いいえ", "どちらともいえない"), "、", ""),  # ours
}
