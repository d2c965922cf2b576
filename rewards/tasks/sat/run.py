"""A run's folder for SAT: rewrites that a model is asked for, or that exist, scored in `rewrites.jsonl`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from data.processes import launched
from data.prompts import sat_messages
from data.rewrites import Rewrite, read_rewrites, write_rewrites
from data.run_folder import RunFolder
from data.stories import Story, load_stories, write_stories
from eval.answers import Item, answer_into, answering_settings
from eval.options import AnsweringOptions, SatOptions
from generate.load import GeneratorSettings
from rewards.embeddings import DEFAULT_ENCODER, make_text_encoder
from rewards.tasks.sat.score import SatScorer
from rewards.tasks.sat.summary import SatSummary, summarise

ROWS = "rewrites.jsonl"
STORIES = "stories.jsonl"  # what was rewritten, so that a run's folder can be read alone


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

    @classmethod
    def of(cls, options: SatOptions) -> SatSettings:
        """As the flags say."""
        return cls(
            stories=Path(options.stories) if options.stories else None,
            embedding_model=options.sat_embedding_model,
            embedding_revision=options.sat_embedding_revision,
            embedding_cache=Path(options.sat_embedding_cache) if options.sat_embedding_cache else None,
        )


@dataclass(frozen=True, slots=True)
class SatRun:
    """A finished run: its folder, its row, and whether it had been finished before this call."""

    folder: Path
    summary: SatSummary
    finished_before: bool


def sample_sat(
    generator: GeneratorSettings, answering: AnsweringOptions, output: Path, settings: SatSettings | None = None
) -> SatRun | None:
    """Let a model rewrite the stories (paper, section 3.3: temperature 1) and score that into the run folder `output`.

    Under `accelerate launch` every process calls this and draws its share.

    Args:
        generator: Who rewrites.
        answering: How many rewrites of each story, and the seed.
        output: The run's folder; see `data.run_folder`.
        settings: Stories and encoder.

    Returns:
        The run, in the first process; None in the others.

    Raises:
        OSError: A file or a model cannot be read, an endpoint fails, or the disk is full.
        ValueError: A setting or the folder is wrong; the message is one line.
        ModuleNotFoundError: A package is missing.
    """
    settings, answering, generator = settings or SatSettings(), answering.checked(), generator.settled(1024)
    stories = load_stories(settings.stories)
    decides = {"task": "sat", **answering_settings(generator, answering), **_deciding(settings, stories)}
    items = [Item(story.id, sat_messages(story.text)[0]["content"]) for story in stories]
    with launched() as processes:
        folder = RunFolder(output, decides)
        metrics = folder.metrics()
        if metrics is None:
            scorer = _scorer(settings, stories)
            answers = answer_into(generator, answering, items, folder, processes, {"scorer": scorer.describe()})
            if processes.first:
                source, seed = str(generator.source), answering.seed
                rows = [
                    Rewrite(
                        f"{a.item}-{a.number}", a.item, a.text, source, seed, generator.temperature, a.finish_reason
                    )
                    for a in answers
                ]
                return _finished(folder, scorer, rows, stories, source)
        elif processes.first:
            return SatRun(output, SatSummary.from_json(metrics), True)
    return None


def score_file(
    rewrites: Path, output: Path, settings: SatSettings | None = None, *, source: str | None = None
) -> SatRun:
    """Score a JSONL file of rewrites into the run folder `output`, or show what an earlier call made of it.

    A scored file (another run's `rewrites.jsonl`) is a file of rewrites: this scores it again with another encoder.

    Args:
        rewrites: See `data.rewrites`.
        output: The run's folder; see `data.run_folder`.
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
        **_deciding(settings, stories),
    }
    folder = RunFolder(output, decides)
    metrics = folder.metrics()
    if metrics is not None:
        return SatRun(output, SatSummary.from_json(metrics), True)
    scorer = _scorer(settings, stories)
    folder.start({"scorer": scorer.describe()}, {"rewrites_file": str(rewrites)})
    return _finished(folder, scorer, rows, stories, source)


def _deciding(settings: SatSettings, stories: Sequence[Story]) -> dict[str, Any]:
    return {
        "stories_sha256": digest_of(stories),
        "num_stories": len(stories),
        "embedding_model": settings.embedding_model,
        "embedding_revision": settings.embedding_revision,
    }


def _scorer(settings: SatSettings, stories: Sequence[Story]) -> SatScorer:
    encoder = make_text_encoder(settings.embedding_model, revision=settings.embedding_revision)
    return SatScorer(encoder, stories, cache_dir=settings.embedding_cache)


def _finished(
    folder: RunFolder, scorer: SatScorer, rows: Sequence[Rewrite], stories: Sequence[Story], source: str | None
) -> SatRun:
    scored = scorer.score(rows)
    write_stories(folder.path / STORIES, stories)
    write_rewrites(folder.path / ROWS, scored)
    summary = summarise(scored, len(stories), source=source)
    folder.finish(summary.to_json())
    return SatRun(folder.path, summary, False)


def digest_of(stories: Sequence[Story]) -> str:
    """SHA-256 of what stories say, whatever file they come from."""
    return hashlib.sha256(json.dumps([asdict(story) for story in stories]).encode()).hexdigest()
