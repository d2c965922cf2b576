"""What `python -m eval correlate --published` does, without the command line."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from data.published import load_text, names
from data.record import write_json, write_whole
from eval.run_folder import RunFolder


@dataclass(frozen=True, slots=True)
class CorrelateRun:
    """A finished comparison: its folder, its page in Markdown, and whether it had been finished before this call."""

    folder: Path
    page: str
    finished_before: bool


def correlate_published(output: Path) -> CorrelateRun:
    """Recompute what the papers derived from their tables into the run folder `output`, or take what is there.

    The folder gets `correlate.md`, `correlate.json` and, in `metrics.json`, the counts of verdicts.

    Raises:
        OSError: The disk is full.
        ValueError: The folder holds another run, or one of other tables; the message is one line.
    """
    tables = json.dumps({name: load_text(name) for name in names()}, sort_keys=True)
    folder = RunFolder(output, {"task": "correlate", "published_sha256": hashlib.sha256(tables.encode()).hexdigest()})
    page = output / "correlate.md"
    if folder.metrics() is not None and page.is_file() and (output / "correlate.json").is_file():
        return CorrelateRun(output, page.read_text("utf-8"), True)
    from eval.correlate.published import derive_published
    from eval.correlate.text import to_json, to_markdown

    folder.start({}, {})
    published = derive_published()
    text = to_markdown(published)
    write_json(output / "correlate.json", to_json(published))
    write_whole(page, text.encode())
    folder.finish(published.counts())
    return CorrelateRun(output, text, False)
