"""What whoever samples or trains must know of a model: can its prompt be shared, how it takes one, what ends it."""

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from sozo.data.errors import UserError
from sozo.data.prompts import Message
from sozo.data.prompts.form import PLAIN, PromptForm

TEMPLATE = "chat_template_sha256"


def template_of(tokenizer: Any) -> dict[str, str | None]:
    """Which chat template a tokenizer has, for a record: its digest; None without one."""
    template = getattr(tokenizer, "chat_template", None)
    return {TEMPLATE: template and hashlib.sha256(str(template).encode()).hexdigest()}


def why_not_shared(model: Any, length: int) -> str | None:
    """Why `model` cannot share a prompt up to `length` tokens of prompt and answer together, or None if it can.

    It can where attention is full, or a sliding window that nothing falls out of, and goes through transformers'
    attention interface: Llama, Qwen2, Qwen3, Mistral, Gemma 3 and their like, with a LoRA adapter too.
    """
    model = without_adapter(model)
    config = model.config.get_text_config()
    layers = set(getattr(config, "layer_types", None) or ["sliding_attention"])
    window = getattr(config, "sliding_window", None)
    if config.is_encoder_decoder:
        return "it is an encoder-decoder"
    if others := layers - {"full_attention", "sliding_attention"}:
        return f"it has layers of type {', '.join(sorted(others))}"
    if not getattr(model, "_supports_attention_backend", False):
        return "its attention does not go through transformers' attention interface"
    if getattr(config, "attn_logit_softcapping", None):
        return "it caps attention logits"
    slides = "sliding_attention" in layers and getattr(
        config, "use_sliding_window", True
    )
    if slides and window and window < length:
        return f"its sliding window of {window} tokens is shorter than prompt and answer ({length})"
    return None


def window_of(model: Any) -> int | None:
    """How many tokens, of prompt and answer together, the model has positions for; None if it does not say."""
    return getattr(
        without_adapter(model).config.get_text_config(), "max_position_embeddings", None
    )


class Window:
    """Room for an answer of up to `most` new tokens in a model's window of so many `tokens`; None is no limit.

    That the window leaves less is said once, on stderr.
    """

    def __init__(self, name: str, tokens: int | None, most: int) -> None:
        self.tokens, self._name, self._most, self._told = tokens, name, most, False

    def room(self, prompt: int) -> int:
        """New tokens that there is a place for behind a prompt of so many; a UserError where there is none."""
        refuse_beyond(self._name, self.tokens, prompt)
        if self.tokens is None or prompt + self._most <= self.tokens:
            return self._most
        if not self._told:
            room = f"its window of {self.tokens:,} tokens has room for answers of {self.tokens - prompt:,}"
            sys.stderr.write(
                f"{self._name}: {room}, fewer than max_new_tokens {self._most:,}\n"
            )
            self._told = True
        return self.tokens - prompt


def longest_prompt(tokenizer: Any, texts: Iterable[str], form: PromptForm) -> int:
    """Tokens of the longest of some prompts in their form."""
    return max(len(encode_text(tokenizer, text, form)) for text in dict.fromkeys(texts))


def refuse_beyond(
    model: str,
    window: int | None,
    prompt: int,
    limit: int = 1,
    name: str = "max_new_tokens",
) -> None:
    """A UserError where `limit` new tokens, the setting `name`, do not fit behind a prompt in the model's window."""
    if window is None or prompt + limit <= window:
        return
    if prompt >= window:
        fills = f"a prompt of {prompt:,} tokens fills the model's window of {window:,}"
        raise UserError(f"{model}: {fills}; take a model with a longer one")
    room = f"the window of {window:,} tokens has room for {window - prompt:,} behind a prompt of {prompt:,}"
    raise UserError(f"{model}: {name} {limit:,} is too long: {room}; give that or less")


def cache_bytes(model: Any, tokens: int, rows: int) -> int:
    """Bytes of the keys and values of `tokens` tokens in every layer, and of `rows` rows of logits."""
    config = model.config.get_text_config()
    heads = config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    token = (
        2
        * config.num_hidden_layers
        * (getattr(config, "num_key_value_heads", None) or heads)
        * size
    )
    return int((token * tokens + config.vocab_size * rows) * model.dtype.itemsize)


def free_bytes(device: Any) -> int | None:
    """A GPU's memory that is free or that torch keeps without using it; None on a CPU."""
    if device.type != "cuda":
        return None
    from torch import cuda

    return int(
        cuda.mem_get_info(device)[0]
        + cuda.memory_reserved(device)
        - cuda.memory_allocated(device)
    )


def without_adapter(model: Any) -> Any:
    """The transformers model inside a PEFT model, or the model itself."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


@contextmanager
def in_eval_mode(model: Any) -> Iterator[None]:
    """The model in evaluation mode; afterwards in the one in which it came."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def why_not_equal(
    model: Any, plain: Callable[[], Any], spared: Callable[[], Any]
) -> str | None:
    """Why `spared`, which spares work, cannot stand for `plain`, or None if it can.

    Both give logits (..., vocabulary) of the same tokens. They are equal where the distributions differ by less than
    1% in total variation on average (10% in half precision, whose rounding differs by more than 1%). Whatever `spared`
    raises is a reason too, but no lack of memory.
    """
    import torch

    name = type(without_adapter(model)).__name__
    with torch.no_grad(), in_eval_mode(model), _computed_dtypes(model) as dtypes:
        expected = plain().float().softmax(-1)
        if not torch.isfinite(expected).all():
            return None  # broken weights are told of elsewhere
        try:
            result = spared().float().softmax(-1)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # whatever an architecture's own code runs into
            return f"{type(error).__name__} in {name}: {' '.join(str(error).split())}"
        half = any(dtype != torch.float32 for dtype in dtypes)
        distance = float((result - expected).abs().sum(-1).mean() / 2)
    if distance < (0.1 if half else 0.01):  # never true of NaN
        return None
    return f"in a trial {name} gave other numbers (total variation {distance:.3f})"


@contextmanager
def _computed_dtypes(model: Any) -> Iterator[list[Any]]:
    """The dtypes in which the output layer computes while this lasts.

    accelerate wraps `forward` in autocast and makes its logits float32 again: neither the weights' dtype nor that of
    the logits nor `torch.is_autocast_enabled` tells, from outside, that everything in between is rounded.
    """
    dtypes = [next(model.parameters()).dtype]
    head = without_adapter(model).get_output_embeddings()
    if head is None:
        yield dtypes
        return
    hook = head.register_forward_hook(
        lambda _module, _inputs, output: dtypes.append(output.dtype)
    )
    try:
        yield dtypes
    finally:
        hook.remove()


def encode_prompt(
    tokenizer: Any, prompt: str | list[Message], **template_arguments: Any
) -> list[int]:
    """Token ids of a prompt as a trainer has it: a conversation by the chat template, a text as it stands."""
    if isinstance(prompt, str):
        return list(tokenizer(prompt)["input_ids"])
    from jinja2 import TemplateError

    # transformers returns a mapping by default
    options = {
        "add_generation_prompt": True,
        "return_dict": False,
        **template_arguments,
    }
    try:
        return list(tokenizer.apply_chat_template(prompt, **options))
    except TemplateError as error:  # Gemma's first ones know no system message
        reason = " ".join(str(error).split())
        raise UserError(
            f"the chat template refuses what it is given ({reason}); leave out system_prompt"
        ) from error


def encode_text(tokenizer: Any, text: str, form: PromptForm = PLAIN) -> list[int]:
    """Token ids of a prompt's text in its form: turns where there is a chat template, else plain text."""
    template = getattr(tokenizer, "chat_template", None)
    prompt = form.prompt(text, conversational=bool(template))
    for name in form.arguments:
        if name not in str(template):
            raise UserError(
                f"chat_template_kwargs: {name} does not stand in the model's template; leave it out"
            )
    return encode_prompt(tokenizer, prompt, **form.arguments)


def end_tokens(model: Any, tokenizer: Any) -> list[int]:
    """Tokens that end an answer: those of the model's generation config and the tokenizer's, as TRL and vLLM do.

    A model trained here learns to end by the tokenizer's, which its generation config need not name.
    """
    ends = model.generation_config.eos_token_id
    ends = ends if isinstance(ends, list | tuple) else [ends]
    return sorted(
        {int(token) for token in (*ends, tokenizer.eos_token_id) if token is not None}
    )
