"""A benchmark's own questions never enter training data: they are known by their fingerprints, whoever has them."""

import hashlib
from collections.abc import Callable, Collection, Iterable

from sozo.data.errors import UserError
from sozo.data.foreign import nfkc
from sozo.tasks.task import Item


def fingerprint(text: str) -> str:
    """64 bits of SHA-256 of a text in compatibility form (NFKC) without any white space, in hexadecimal.

    >>> fingerprint("紙袋の使い方を１０個。\\n") == fingerprint(" 紙袋の使い方を10個。")
    True
    """
    plain = "".join(nfkc(text).split())
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def refuse(
    items: Iterable[Item],
    held_out: Collection[str],
    what: str,
    inside: Callable[[str], Iterable[str]] = lambda text: (),
) -> None:
    """Raise UserError if a prompt or column, or a line of one, has one of the fingerprints `held_out`, of `what`.

    `inside` gives what else of a text is looked at.

    >>> refuse([Item("", "次の問いに答えてください。\\n犬の色は?")], {fingerprint("猫の色は?")}, "a benchmark")
    """
    texts = (
        text
        for item in items
        for text in (item.prompt, *item.columns.values())
        if isinstance(text, str)
    )
    for text in dict.fromkeys(texts):
        for part in dict.fromkeys((text, *text.splitlines(), *inside(text))):
            if fingerprint(part) in held_out:
                held = f"training data holds {what}, such as {' '.join(part.split())[:40]!r}"
                raise UserError(
                    f"{held}; leave them out, or what is measured with them afterwards means nothing"
                )
