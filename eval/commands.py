"""What the commands do, without the command line: cheap checks first, then models, then the work."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from data.answers_file import check_file
from data.processes import Processes, launched, world_size
from data.run_folder import RunFolder, RunFolderError
from data.schema import count_rows, part_paths
from eval.options import SamplingOptions
from eval.responses import rescore_table, sample_responses, sample_trials, score_file
from eval.start_run import start_run
from generate.load import GeneratorSettings
from generate.openai_endpoint import public_url
from rewards.nouns import make_noun_checker
from rewards.tasks.dat.scorer import DatScorer, ScorerSettings
from rewards.tasks.dat.summary import DatSummary, summarise


@dataclass(frozen=True, slots=True)
class DatRun:
    """A finished run: its folder, its row, and whether it had been finished before this call."""

    folder: Path
    summary: DatSummary
    finished_before: bool


def sample_dat(
    generator: GeneratorSettings, sampling: SamplingOptions, output: Path, scorer: ScorerSettings
) -> DatRun | None:
    """Draw responses from a model and score them into the run folder `output`, or go on where an earlier call stopped.

    Under `accelerate launch` every process calls this and draws its share; `output` must be the same folder for all.

    Args:
        generator: Who writes.
        sampling: How many responses (or trials), and the seed.
        output: The run's folder; see `data.run_folder`.
        scorer: What to score with.

    Returns:
        The run, in the first process; None in the others.

    Raises:
        OSError: A file or a model cannot be read, an endpoint fails, or the disk is full.
        ValueError: A setting or the folder is wrong, or too few responses are valid; the message is one line.
        ModuleNotFoundError: A package is missing.
    """
    sampling, generator, scorer = sampling.checked(), generator.settled(), _settled(scorer)
    decides = {name: value for name, value in asdict(generator).items() if name not in ("concurrency", "slots")}
    if generator.base_url:
        decides["base_url"] = public_url(generator.base_url)
    settings = {"task": "dat", **decides, **asdict(sampling), **_deciding(scorer)}
    if sampling.trials and world_size() > 1:
        raise ValueError(
            "trials are drawn until there are enough, by one process: run without accelerate launch, or give "
            "num_responses"
        )
    with launched() as processes:
        folder = RunFolder(output, settings)
        metrics = folder.metrics()
        if metrics is None:
            metrics = _sample(generator, sampling, folder, scorer, processes)
            return DatRun(output, DatSummary.from_json(metrics), False) if metrics is not None else None
        return DatRun(output, DatSummary.from_json(metrics), True) if processes.first else None


def _sample(
    generator: GeneratorSettings,
    sampling: SamplingOptions,
    folder: RunFolder,
    scorer: ScorerSettings,
    processes: Processes,
) -> dict[str, Any] | None:
    """This process's share; the first one also writes the metrics, and returns them."""
    judge = scorer.build()
    writer = start_run(generator, folder, processes, {"scorer": judge.describe(), "seed": sampling.seed})
    options = {"seed": sampling.seed, "batch_size": sampling.batch_size}
    if sampling.trials:
        sample_trials(writer, judge, folder.responses, sampling.trials, **options)
    else:
        n = sampling.num_responses or 0
        sample_responses(writer, judge, folder.responses, n, processes=processes, **options)
    processes.wait()
    return _finish(folder, judge, sampling, writer.name) if processes.first else None


def _finish(folder: RunFolder, scorer: DatScorer, sampling: SamplingOptions, source: str) -> dict[str, Any]:
    drawn = sum(count_rows(part) for part in part_paths(folder.responses))
    if sampling.num_responses not in (None, drawn):
        raise RunFolderError(
            f"{folder.responses}: holds {drawn} rows where {sampling.num_responses} belong; is the folder the same for "
            "all processes? Run the same command again"
        )
    summary = _row(folder.responses, scorer, source, trials=sampling.trials)
    metrics = summary.to_json()
    if sampling.trials:
        metrics |= {"trials": sampling.trials, "drawn": drawn}
    folder.finish(metrics)
    return metrics


def score_responses(responses: Path, output: Path, scorer: ScorerSettings, *, source: str) -> DatRun:
    """Score a JSONL file into the run folder `output`, or go on where an earlier call stopped.

    Args:
        responses: The file; see `data.answers_file`.
        output: The run's folder; see `data.run_folder`.
        scorer: What to score with. `auto` is settled before anything is compared or recorded.
        source: Name of the row.

    Raises:
        OSError: A file or a model cannot be read.
        ValueError: A line, a setting or the folder is wrong; the message is one line.
        ModuleNotFoundError: A package is missing.
    """
    scorer = _settled(scorer)
    file = check_file(responses)
    settings = {
        "task": "dat",
        "responses_sha256": file.sha256,
        "num_responses": file.rows,
        "source": source,
        **_deciding(scorer),
    }

    def write(judge: DatScorer, parts: Path) -> None:
        score_file(file, judge, parts, source=source)

    return _score_others(output, settings, scorer, {"responses_file": str(responses)}, write, source)


def rescore(table: Path, output: Path, scorer: ScorerSettings) -> DatRun:
    """Score the responses of a table again, with another encoder or checker and no model, into the folder `output`.

    Args:
        table: A run's folder, a folder of parts or one part. All its rows count, of a run of trials too.
        output: The new run's folder; another one than the table's.
        scorer: What to score with.

    Raises:
        OSError: A file or a model cannot be read.
        ValueError: The table, a setting or the folder is wrong; the message is one line.
        ModuleNotFoundError: A package is missing.
    """
    scorer = _settled(scorer)
    parts = part_paths(table)
    if parts[0].parent.resolve() in (output.resolve(), (output / "responses").resolve()):
        raise ValueError(f"{output}: is the table itself; give another --output")
    if (table / "config.json").exists() and not (table / "metrics.json").exists():
        raise ValueError(f"{table}: is not finished; run the command that made it again first")
    rows = sum(count_rows(part) for part in parts)
    settings = {"task": "rescore", "responses_sha256": _digest(parts), "num_responses": rows, **_deciding(scorer)}

    def write(judge: DatScorer, responses: Path) -> None:
        rescore_table(table, judge, responses)

    return _score_others(output, settings, scorer, {"table": str(table)}, write, None)


def _score_others(
    output: Path,
    settings: dict[str, Any],
    scorer: ScorerSettings,
    origin: dict[str, Any],
    write: Callable[[DatScorer, Path], None],
    source: str | None,
) -> DatRun:
    """A run on responses that exist: `write` scores them into parts, unless an earlier call has finished that."""
    folder = RunFolder(output, settings)
    metrics = folder.metrics()
    if metrics is not None:
        return DatRun(output, DatSummary.from_json(metrics), True)
    judge = scorer.build()
    # Somebody else drew these responses: seed and decoder are not known here.
    folder.start({"scorer": judge.describe(), "seed": None, "decoder": None}, origin)
    write(judge, folder.responses)
    summary = _row(folder.responses, judge, source)
    folder.finish(summary.to_json())
    return DatRun(output, summary, False)


def _settled(scorer: ScorerSettings) -> ScorerSettings:
    """With `auto` decided. Cheap, and it catches an unknown or missing checker before a long file is read."""
    return replace(scorer, noun_checker=make_noun_checker(scorer.noun_checker, scorer.noun_rules).name)


def _deciding(scorer: ScorerSettings) -> dict[str, Any]:
    """The settings that decide what a score is."""
    return {key: value for key, value in asdict(scorer).items() if key != "embedding_cache"}


def _row(responses: Path, scorer: DatScorer, source: str | None, trials: int | None = None) -> DatSummary:
    # Olson's words are English: JumanDIC has nothing to say about them.
    checker = None if scorer.rules.olson else scorer.checker
    return summarise(responses, source=source, checker=checker, trials=trials)


def _digest(parts: list[Path]) -> str:
    """SHA-256 of the parts' bytes, in order."""
    digest = hashlib.sha256()
    for part in parts:
        with part.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
