"""YAML as settings mean it: a date is text, no key comes twice, and aliases cannot make a small file a large value."""

from typing import Any, ClassVar

import yaml

_DATE, _MERGE = "tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:merge"
_MOST_NODES = 1_000_000  # aliases written out


class SettingsLoader(yaml.SafeLoader):
    """`yaml.SafeLoader`, but for that."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[Any]]] = {
        first: [(tag, form) for tag, form in known if tag != _DATE]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._count, self._sizes = 0, dict[Any, int]()

    def compose_node(self, parent: Any, index: Any) -> Any:
        """The next node; an alias counts as what it stands for."""
        alias, before = self.check_event(yaml.AliasEvent), self._count
        node: Any = super().compose_node(parent, index)  # type: ignore[no-untyped-call]
        if alias and node not in self._sizes:
            raise yaml.composer.ComposerError(None, None, "an alias stands within what it means", node.start_mark)
        self._count += self._sizes[node] if alias else 1
        if self._count > _MOST_NODES:
            raise yaml.composer.ComposerError(None, None, "its aliases stand for too much", node.start_mark)
        self._sizes.setdefault(node, self._count - before)
        return node

    def compose_mapping_node(self, anchor: Any) -> Any:
        """The next mapping; what it merges may have its keys too."""
        node: Any = super().compose_mapping_node(anchor)  # type: ignore[no-untyped-call]
        keys = set[tuple[str, str]]()
        for key, _ in node.value:
            written = (key.tag, str(key.value))
            if key.tag != _MERGE and written in keys:
                raise yaml.composer.ComposerError(None, None, f"the key {key.value} comes twice", key.start_mark)
            keys.add(written)
        return node
