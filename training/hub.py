"""Prompts from a data set of the hub: `hub:NAME`, one version of it, and no more than a run can hold."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from sozo.data.errors import UserError

HUB = "hub:"
_FORM = re.compile(
    r"(?P<name>[^:@]+)(@(?P<revision>[^:@]+))?(:(?P<split>.+))?", re.ASCII
)
_MOST = 100_000  # rows: all are held in memory


@dataclass(frozen=True)
class HubPrompts:
    """A data set as `datasets` finds it: of the hub, by its id, or a folder of data files.

    >>> HubPrompts.named("hub:org/name/config@main:train[:100]")
    HubPrompts(name='org/name', config='config', revision='main', split='train[:100]')
    """

    name: str
    config: str | None = None
    revision: str | None = None
    split: str = "train"

    @classmethod
    def named(cls, text: str) -> Self:
        """Of `hub:NAME`, `hub:NAME/CONFIG`, behind either `@REVISION`, then `:SPLIT`."""
        if not (parts := _FORM.fullmatch(text.removeprefix(HUB))):
            raise UserError(
                f"{text}: is no data set; write hub:NAME or hub:NAME:SPLIT, such as hub:org/name:train"
            )
        name, config = parts["name"], None
        if name.count("/") == 2 and not Path(name).is_dir():
            name, _, config = name.rpartition("/")
        return cls(name, config, parts["revision"], parts["split"] or "train")

    def rows(self) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """The rows of the split, each with its number from 0 and what a message calls it."""
        from datasets import load_dataset

        where = f"{HUB}{self.name}"
        try:
            table = load_dataset(
                self.name, self.config, revision=self.revision, split=self.split
            )
        except Exception as error:  # whatever the hub holds, the user needs one line
            # The cause is what was wrong, datasets' own error what it did.
            said = str(error.__cause__ or error).strip() or type(error).__name__
            raise UserError(
                f"{where}: cannot be loaded: {said}; mend the name or the split, log in (hf auth login), or give a JSONL file"
            ) from error
        if len(table) > _MOST:
            part = f"{where}:{self.split.partition('[')[0]}[:{_MOST}]"
            raise UserError(
                f"{where}: {len(table):,} rows, of which {_MOST:,} can be prompts; take a part, such as {part}"
            )
        for number, row in enumerate(table):
            yield number, f"{where}, row {number + 1}", row
