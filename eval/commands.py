"""What the commands do, without the command line: cheap checks first, then models, then the work."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from eval.dat import DatSummary, summarise
from eval.jsonl import check_file
from eval.responses import score_file
from eval.run_folder import RunFolder
from rewards.dat import ScorerSettings
from rewards.nouns import make_noun_checker


@dataclass(frozen=True, slots=True)
class DatRun:
    """A finished run: its folder, its row, and whether it had been finished before this call."""

    folder: Path
    summary: DatSummary
    finished_before: bool


def score_responses(responses: Path, output: Path, scorer: ScorerSettings, *, source: str) -> DatRun:
    """Score a JSONL file into the run folder `output`, or go on where an earlier call stopped.

    Args:
        responses: The file; see `eval.jsonl`.
        output: The run's folder; see `eval.run_folder`.
        scorer: What to score with. `auto` is settled before anything is compared or recorded.
        source: Name of the row.

    Raises:
        OSError: A file or a model cannot be read.
        ValueError: A line, a setting or the folder is wrong; the message is one line.
        ModuleNotFoundError: A package is missing.
    """
    # Cheap, and it catches an unknown or missing checker before a long file is read.
    checker = make_noun_checker(scorer.noun_checker, scorer.noun_rules)
    scorer = replace(scorer, noun_checker=checker.name)
    file = check_file(responses)
    settings = {
        "task": "dat",
        "responses_sha256": file.sha256,
        "num_responses": file.rows,
        "source": source,
        **{key: value for key, value in asdict(scorer).items() if key != "embedding_cache"},
    }
    folder = RunFolder(output, settings)
    metrics = folder.metrics()
    if metrics is not None:
        return DatRun(output, DatSummary.from_json(metrics), True)

    loaded = scorer.build()
    # Somebody else drew these responses: seed and decoder are not known here.
    folder.start({"scorer": loaded.describe(), "seed": None, "decoder": None}, {"responses_file": str(responses)})
    score_file(file, loaded, folder.responses, source=source)
    # Olson's words are English: JumanDIC has nothing to say about them.
    summary = summarise(folder.responses, source=source, checker=None if scorer.rules.olson else loaded.checker)
    folder.finish(summary.to_json())
    return DatRun(output, summary, False)
