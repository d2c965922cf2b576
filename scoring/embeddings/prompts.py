"""What an encoder wants before each word or text, by its model's card, and how its name says so: `NAME[PROMPT]`."""

import logging
import re

from sozo.data.errors import UserError
from sozo.data.processes import is_first

PAPER = "GLuCoSE-base-ja-v2"  # the paper's encoder of DAT
# Of a consensus; a + within brackets belongs to a prompt
BETWEEN_PARTS = re.compile(r"\+(?![^\[]*\])")
_NAMED = re.compile(r"(.+)\[([^\]]*)\]", re.DOTALL)
# A regular expression for a part of a hub id or of a folder's path -> what the model's card wants before each of two
# texts that are compared: as the card or a copy of it says, of ruri-v3, sarashina and plamo as others write.
CARDS = {
    PAPER: "query: ",
    "multilingual-e5-(small|base|large)": "query: ",
    "ruri-(small|base|large)(-v2)?": "クエリ: ",
    r"ruri-v3-\d+m": "",
    "sarashina-embedding-v2-1b": "task: クエリを与えるので，もっともクエリに意味が似ている一節を探してください。\nquery: ",
    "bge-m3": "",
    "plamo-embedding-1b": "",
}


def parts_of(name: str) -> list[str]:
    """The encoders that an encoder is made of, without their prompts.

    >>> parts_of("centred:e5+org/model[query: ]")
    ['e5', 'org/model']
    """
    return [
        split_prompt(part.removeprefix("centred:"))[0]
        for part in BETWEEN_PARTS.split(name)
    ]


def split_prompt(name: str) -> tuple[str, str | None]:
    """A name without its prompt, and the prompt; None where it names none.

    >>> split_prompt("org/model[query: ]"), split_prompt("org/model[]"), split_prompt("org/model")
    (('org/model', 'query: '), ('org/model', ''), ('org/model', None))
    """
    named = _NAMED.fullmatch(name)
    return (named[1], named[2]) if named else (name, None)


def resolve(model: str, prompt: str | None, stated: str = "") -> tuple[str, str]:
    """What stands before each text, and how the name and revision of `model` say so.

    Without a `prompt` it is `stated` by the model, else its card's; a line says so. The two characters `\\n` are
    a line's end. Where nothing stands before a text and nothing asks for it, name and revision say nothing.

    >>> resolve("org/model", "query: "), resolve("org/model", None), resolve("BAAI/bge-m3", None)
    (('query: ', '[query: ]'), ('', ''), ('', ''))
    >>> resolve("intfloat/multilingual-e5-small", "")
    ('', '[]')
    """
    default, source = stated, "the model's own default"
    for card, asked in CARDS.items():
        if not stated and re.search(rf"(^|[:/]|--){card}($|/)", model):
            default, source = asked, "as its card is said to ask"
    if prompt is None and default and is_first():
        message = "the embedding model %s gets %r before each text, %s; another: NAME[PROMPT], none: NAME[]"
        logging.getLogger(__name__).warning(message, model, default, source)
    chosen = default if prompt is None else prompt.replace("\\n", "\n")
    if "]" in chosen:
        raise UserError(
            f"the prompt of {model} must not contain ]: {chosen!r}; give it another"
        )
    return chosen, f"[{chosen}]".replace("\n", "\\n") if chosen or default else ""
