"""A run's folder for SAT: rewrites that exist are scored into it (`rewrites.jsonl`, `metrics.json`, `config.json`)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from data.rewrites import read_rewrites, write_rewrites
from data.stories import Story, load_stories
from eval.run_folder import RunFolder
from eval.sat.score import SatScorer
from eval.sat.summary import SatSummary, summarise
from rewards.embeddings import DEFAULT_ENCODER, make_text_encoder

ROWS = "rewrites.jsonl"


@dataclass(frozen=True, slots=True)
class SatSettings:
    """What a score rests on.

    Args:
        stories: JSONL file of the stories; None takes the packaged ones.
        embedding_model: See `rewards.embeddings.make_text_encoder`. The paper: pkshatech/simcse-ja-bert-base-clcmlp.
        embedding_revision: Hub revision of it.
        embedding_cache: Folder that keeps vectors for later runs; None keeps none.
    """

    stories: Path | None = None
    embedding_model: str = DEFAULT_ENCODER
    embedding_revision: str | None = None
    embedding_cache: Path | None = None


@dataclass(frozen=True, slots=True)
class SatRun:
    """A finished run: its folder, its row, and whether it had been finished before this call."""

    folder: Path
    summary: SatSummary
    finished_before: bool


def score_file(
    rewrites: Path, output: Path, settings: SatSettings | None = None, *, source: str | None = None
) -> SatRun:
    """Score a JSONL file of rewrites into the run folder `output`, or show what an earlier call made of it.

    A scored file (another run's `rewrites.jsonl`) is a file of rewrites: this scores it again with another encoder.

    Args:
        rewrites: See `data.rewrites`.
        output: The run's folder; see `eval.run_folder`.
        settings: Stories and encoder.
        source: Name of the row; None takes the rows' own.

    Raises:
        OSError: A file or a model cannot be read.
        ValueError: A line, a setting or the folder is wrong; the message is one line.
        ModuleNotFoundError: A package is missing.
    """
    settings = settings or SatSettings()
    stories = load_stories(settings.stories)
    rows = read_rewrites(rewrites, {story.id for story in stories}, source)
    decides = {
        "task": "sat",
        "rewrites_sha256": hashlib.sha256(rewrites.read_bytes()).hexdigest(),
        "num_rewrites": len(rows),
        "source": source,
        "stories_sha256": digest_of(stories),
        "num_stories": len(stories),
        "embedding_model": settings.embedding_model,
        "embedding_revision": settings.embedding_revision,
    }
    folder = RunFolder(output, decides)
    metrics = folder.metrics()
    if metrics is not None:
        return SatRun(output, SatSummary.from_json(metrics), True)
    encoder = make_text_encoder(settings.embedding_model, revision=settings.embedding_revision)
    scorer = SatScorer(encoder, stories, cache_dir=settings.embedding_cache)
    folder.start({"scorer": scorer.describe()}, {"rewrites_file": str(rewrites)})
    scored = scorer.score(rows)
    write_rewrites(output / ROWS, scored)
    summary = summarise(scored, len(stories), source=source)
    folder.finish(summary.to_json())
    return SatRun(output, summary, False)


def digest_of(stories: Sequence[Story]) -> str:
    """SHA-256 of what stories say, whatever file they come from."""
    return hashlib.sha256(json.dumps([asdict(story) for story in stories]).encode()).hexdigest()
