"""A prompt as token ids, and the tokens that end a response: the same for whoever samples, judges or trains."""

from typing import Any

from data.prompts import Message, as_prompt


def encode_prompt(tokenizer: Any, prompt: str | list[Message], **template_arguments: Any) -> list[int]:
    """Token ids of a prompt as a trainer has it: a conversation by the chat template, a text as it stands."""
    if isinstance(prompt, str):
        return list(tokenizer(prompt)["input_ids"])
    # transformers returns a mapping by default
    options = {"add_generation_prompt": True, "return_dict": False, **template_arguments}
    return list(tokenizer.apply_chat_template(prompt, **options))


def encode_text(tokenizer: Any, text: str) -> list[int]:
    """Token ids of a prompt's text: one user turn where there is a chat template, else plain text."""
    conversational = bool(getattr(tokenizer, "chat_template", None))
    return encode_prompt(tokenizer, as_prompt(text, conversational=conversational))


def end_tokens(model: Any, tokenizer: Any) -> list[int]:
    """Tokens that end a response: those of the model's generation config, else the tokenizer's."""
    ends = model.generation_config.eos_token_id
    ends = tokenizer.eos_token_id if ends is None else ends
    if ends is None:
        return []
    return sorted(ends) if isinstance(ends, list | tuple) else [int(ends)]
