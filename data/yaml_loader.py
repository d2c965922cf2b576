"""YAML as settings mean it: a date is text, no key comes twice, and merges cannot make a small file a large value."""

from typing import Any, ClassVar

import yaml

from sozo.data.foreign import DEEPEST, MOST_DIGITS, brief, not_deep
from sozo.data.schema import utf8_safe

_DATE, _MERGE = "tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:merge"
_MOST_KEYS = 10_000  # of a mapping, with those that it merges


class SettingsLoader(yaml.SafeLoader):
    """`yaml.SafeLoader`, but for that."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[Any]]] = {
        first: [(tag, form) for tag, form in known if tag != _DATE]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    _level = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """The next node; at a depth that nobody means the rest is not read: it would take the square of the depth."""
        if self._level > DEEPEST:
            raise yaml.composer.ComposerError(
                None, None, f"nested deeper than {DEEPEST} levels", self.get_mark()
            )
        self._level += 1
        node: Any = super().compose_node(parent, index)  # type: ignore[no-untyped-call]
        self._level -= 1
        return node

    def compose_mapping_node(self, anchor: Any) -> Any:
        """The next mapping; what it merges may have its keys too."""
        node: Any = super().compose_mapping_node(anchor)  # type: ignore[no-untyped-call]
        keys = set[tuple[str, str]]()
        for key, _ in node.value:
            written = (key.tag, str(key.value))
            if key.tag != _MERGE and written in keys:
                raise yaml.composer.ComposerError(
                    None, None, f"the key {key.value} comes twice", key.start_mark
                )
            keys.add(written)
        return node

    def construct_yaml_int(self, node: Any) -> int:
        """A whole number, in whatever base, that Python can write."""
        value: int = super().construct_yaml_int(node)
        if value.bit_length() > 3 * MOST_DIGITS:
            raise yaml.constructor.ConstructorError(
                None, None, "the number is too long", node.start_mark
            )
        return value

    def construct_yaml_str(self, node: Any) -> str:
        """A text that can be written: half of a surrogate pair cannot."""
        text: str = super().construct_yaml_str(node)
        if utf8_safe(text) != text:
            raise yaml.constructor.ConstructorError(
                None, None, "it is no text of Unicode", node.start_mark
            )
        return text

    def flatten_mapping(self, node: Any) -> None:
        """Put the keys of what is merged into a mapping."""
        super().flatten_mapping(node)
        if len(node.value) > _MOST_KEYS:
            raise yaml.constructor.ConstructorError(
                None, None, "it merges too many keys", node.start_mark
            )


SettingsLoader.add_constructor(
    "tag:yaml.org,2002:int", SettingsLoader.construct_yaml_int
)
SettingsLoader.add_constructor(
    "tag:yaml.org,2002:str", SettingsLoader.construct_yaml_str
)


def parse_yaml(text: str) -> Any:
    """The value of a YAML text, dates as text; a ValueError of one line where it is none or is deep.

    >>> parse_yaml("run_name: 2024-11-31")
    {'run_name': '2024-11-31'}
    """
    try:
        return not_deep(yaml.load(text, SettingsLoader))  # noqa: S506 - it is a safe one
    except RecursionError:
        raise ValueError(f"nested deeper than {DEEPEST} levels") from None
    except Exception as error:  # a tag that does not fit its value raises whatever the value's type does
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        raise ValueError(
            (f"line {mark.line + 1}: " if mark else "")
            + brief(" ".join(problem.split()))
        ) from error
