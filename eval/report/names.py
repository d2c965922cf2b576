"""Names of a page's sections, for links within it and for the files beside it."""

import re


class Names:
    """Names that come once each, in the order in which they were asked for: a page's list of contents."""

    def __init__(self) -> None:
        self.listed: dict[
            str, str
        ] = {}  # what each name in it is of: a label, or a title itself
        self._taken: set[str] = set()

    def new(self, key: str, listed: bool = False) -> str:
        """A name for `key` that nothing else has; it may be listed among the contents.

        >>> names = Names()
        >>> names.new("What changed?"), names.new("What changed?"), names.new("../x"), names.new("課題")
        ('what-changed', 'what-changed-2', 'x', '課題')
        """
        slug = re.sub(r"\W+", "-", key.lower()).strip("-") or "section"
        name, number = slug, 1
        while name in self._taken:
            number += 1
            name = f"{slug}-{number}"
        self._taken.add(name)
        if listed:
            self.listed[name] = key
        return name
