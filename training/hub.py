"""Prompts from a data set of the hub: `hub:NAME`, one version of it, and no more than a run can hold."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
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
        name = parts["name"]
        config = None
        if name.count("/") == 2 and not Path(name).is_dir():
            name, _, config = name.rpartition("/")
        return cls(name, config, parts["revision"], parts["split"] or "train")

    @cached_property
    def _builder(self) -> Any:
        from datasets import load_dataset_builder

        # What datasets' `load_dataset` does first; only the builder tells the commit.
        return load_dataset_builder(self.name, self.config, revision=self.revision)

    def rows(self) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """The rows of the split, each with its number from 0 and what a message calls it."""
        where = f"{HUB}{self.name}"
        try:
            self._builder.download_and_prepare()
            table = self._builder.as_dataset(split=self.split)
        except ConnectionError as error:
            raise UserError(
                f"{where}: not in the cache, and the hub cannot be reached ({error}); try again, or give a JSONL file"
            ) from error
        except Exception as error:  # whatever the hub holds, the user needs one line
            cause = (
                error.__cause__ or error
            )  # datasets': what it did, not what was wrong
            said = str(cause).strip().rstrip(".") or type(cause).__name__
            if isinstance(cause, StopIteration):  # datasets found no first row
                said = "a file without rows"
            raise UserError(
                f"{where}: cannot be loaded: {said}; mend the name or the split, or log in (hf auth login)"
            ) from error
        if len(table) > _MOST:
            part = f"{where}:{self.split.partition('[')[0]}[:{_MOST}]"
            raise UserError(
                f"{where}: {len(table):,} rows, of which {_MOST:,} can be prompts; take a part, such as {part}"
            )
        if not {"prompt", "messages"}.intersection(table.column_names):
            raise UserError(
                f"{where}: no column prompt among {', '.join(table.column_names)}; write a JSONL file that has it"
            )
        for number, row in enumerate(table):
            yield number, f"{where}, row {number + 1}", row
