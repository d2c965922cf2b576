"""Names of a page's sections, for links within it and for the files beside it."""

import re


class Names:
    """Names that come once each, in the order in which they were asked for: a page's list of contents."""

    def __init__(self) -> None:
        self.keys: dict[str, str] = {}  # what each name is of: a label, or a title itself

    def new(self, key: str) -> str:
        """A name for `key` that nothing else has.

        >>> names = Names()
        >>> names.new("What changed?"), names.new("What changed?"), names.new("../x"), names.new("課題")
        ('what-changed', 'what-changed-2', 'x', '課題')
        """
        slug = re.sub(r"\W+", "-", key.lower()).strip("-") or "section"
        name, number = slug, 1
        while name in self.keys:
            number += 1
            name = f"{slug}-{number}"
        self.keys[name] = key
        return name
