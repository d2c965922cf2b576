"""In what form a prompt comes before a model: the same where answers are sampled, trained on, paid for and measured."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.foreign import quoted
from sozo.data.prompts import Message, messages
from sozo.data.record import read_json
from sozo.data.settings import from_json

# Of transformers' apply_chat_template: what belongs to whoever asks.
_TAKEN = {
    "chat_template",
    "conversation",
    "add_generation_prompt",
    "continue_final_message",
    "tokenize",
}
_TAKEN |= {
    "return_dict",
    "return_tensors",
    "padding",
    "truncation",
    "max_length",
    "tokenizer_kwargs",
}


@dataclass(frozen=True)
class PromptForm:
    """A system message before every prompt, and arguments of the chat template, such as `{"enable_thinking": False}`.

    >>> PromptForm("短く答えて。").prompt("犬とは?", conversational=True)
    [{'role': 'system', 'content': '短く答えて。'}, {'role': 'user', 'content': '犬とは?'}]
    """

    system: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def prompt(self, text: Any, *, conversational: bool) -> list[Message] | str:
        """`text` as a model is asked it: one user turn where its tokenizer has a chat template, else plain text.

        A line break parts the plain text from the response. Turns of a conversation, pairs of role and content, are
        asked as they are, and as plain text the last of them.
        """
        if not isinstance(text, str):
            turns = [{"role": role, "content": said} for role, said in text]
            return turns if conversational else f"{text[-1][1]}\n"
        if conversational:
            return [
                *([{"role": "system", "content": self.system}] if self.system else []),
                *messages(text),
            ]
        if self.system or self.arguments:
            raise UserError(
                "system_prompt and chat_template_kwargs need a chat template, and this model has none"
            )
        return f"{text}\n"


PLAIN = PromptForm()


def read_form(
    system: str | None, arguments: Mapping[str, Any] | str | None
) -> PromptForm:
    """The form that the settings `system_prompt` and `chat_template_kwargs` (a mapping, or JSON) stand for."""
    values = from_json(
        "{}" if arguments in (None, "") else arguments, "chat_template_kwargs"
    )
    if not isinstance(values, dict):
        raise UserError(
            f"chat_template_kwargs must be a mapping of names to values, not {quoted(values)}"
        )
    if taken := sorted(_TAKEN & values.keys()):
        raise UserError(
            f"chat_template_kwargs: {taken[0]} is no argument of a model's template; leave it out"
        )
    return PromptForm(system or None, values)


def trained_form(model: str | None) -> PromptForm:
    """The form in which the model in a folder was trained by sozo, as its run's record says; the plain one of others.

    A checkpoint is its run's.
    """
    folder = Path(model or "")
    places = (
        [folder, folder.parent] if folder.name.startswith("checkpoint-") else [folder]
    )
    record = next(
        (path for place in places if (path := place / "run_config.json").is_file()),
        None,
    )
    settings = read_json(record).get("settings", {}) if model and record else {}
    script = settings.get("script", {})
    training = settings.get("training", {})
    return read_form(script.get("system_prompt"), training.get("chat_template_kwargs"))


def settled_form(
    system: str | None, arguments: Mapping[str, Any] | str | None, model: str | None
) -> tuple[str | None, dict[str, Any] | None]:
    """Both settings as they are given, or else as `model` was trained; an empty one is given too, and stays."""
    trained = trained_form(model)
    given = read_form(system, arguments)
    form = (
        dict(trained.arguments) or None if arguments is None else dict(given.arguments)
    )
    return trained.system if system is None else system, form
