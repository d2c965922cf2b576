"""A short text beside a number, such as why there is none, that can be said in another language where it is shown."""

from collections.abc import Mapping
from typing import Any


class Translatable(str):
    """A text in English that keeps its form and what stands in it: by these `sozo.eval.report.labels` translates it."""

    form: str
    values: Mapping[str, Any]


def translatable(form: str, /, **values: Any) -> Translatable:
    """The text of a form; what has a translation of its own among the values is such a text itself, or a list of them.

    >>> refused = translatable("{n} {status}", n=35, status=translatable("refused"))
    >>> translatable("{n} of {of}: {counts}", n=0, of=35, counts=[refused])
    '0 of 35: 35 refused'
    """
    if isinstance(form, Translatable) and not values:
        return form
    shown = {
        name: ", ".join(value) if isinstance(value, list) else value
        for name, value in values.items()
    }
    # A title may have braces of its own
    text = Translatable(form.format(**shown) if values else form)
    text.form, text.values = form, values
    return text
