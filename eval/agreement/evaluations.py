"""From finished SAT runs to tables of scores: by their own encoder, by others and by people (paper, appendix C)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from data.progress import responses_bar
from data.stories import Story
from eval.agreement.agreement import MIN_MODELS
from eval.agreement.matrix import ScoreTable, encoder_table
from eval.agreement.rankings import Ranking, human_table
from eval.alike import check_alike
from eval.finished import Evaluated, FinishedSat
from rewards.embeddings import make_text_encoder
from rewards.tasks.sat.score import SatScorer

Runs = Mapping[str, FinishedSat]


def sat_runs(models: Iterable[Evaluated]) -> dict[str, FinishedSat]:
    """The SAT runs of models, by name.

    Raises:
        ValueError: There are fewer than two.
    """
    runs = {model.name: model.sat for model in models if model.sat}
    if len(runs) < 2:
        raise ValueError(
            f"a ranking needs two models or more with finished SAT runs, and there are {len(runs)}; finish more: "
            "python -m eval run --benchmarks sat"
        )
    return runs


def stories_of(runs: Runs) -> dict[str, Story]:
    """Id -> story, of all runs.

    Raises:
        ValueError: One id means two texts.
    """
    stories: dict[str, Story] = {}
    for run in runs.values():
        for story in run.stories:
            if stories.setdefault(story.id, story).text != story.text:
                raise ValueError(
                    f"{run.folder}: its story {story.id!r} has another text than in the other runs; give runs of the "
                    "same stories"
                )
    return stories


def own_scores(runs: Runs) -> ScoreTable:
    """The scores that the runs hold.

    Raises:
        ValueError: Two runs were scored with different encoders.
    """
    mend = "name the encoders that shall score all: --sat-embedding-models"
    check_alike("SAT", list(runs.items()), mend)
    name = next(iter(runs.values())).loaded["scorer"]["embedding_model"]
    return encoder_table(str(name), {model: run.rewrites for model, run in runs.items()})


def scores_by(
    encoder: str, runs: Runs, stories: Mapping[str, Story], cache: Path | None
) -> tuple[ScoreTable, dict[str, Any]]:
    """The runs' rewrites scored with another encoder, and what a results file must say about it.

    Args:
        encoder: See `rewards.embeddings.make_text_encoder`.
        runs: What was rewritten.
        stories: See `stories_of`.
        cache: Folder of a disk cache of vectors; None keeps none.

    Raises:
        OSError: The encoder cannot be loaded.
        UserError: It gives no text a vector.
    """
    scorer = SatScorer(make_text_encoder(encoder), stories.values(), cache_dir=cache)
    facts = scorer.describe()
    scored = {}
    with responses_bar(f"scoring by {encoder}", len(runs)) as advance:
        for name, run in runs.items():
            scored[name] = scorer.score(run.rewrites)
            advance(1, None)
    return encoder_table(facts["embedding_model"], scored), facts


def scores_by_people(
    path: Path, rankings: Sequence[Ranking], runs: Runs, stories: Mapping[str, Story]
) -> tuple[ScoreTable, list[str]]:
    """People's scores of the runs' models on the runs' stories, and what of the file was left out.

    A place counts among all models that were ranked, those too that there is no run of.

    Raises:
        ValueError: Fewer than three of the ranked models, or none of the stories, are among the runs'.
    """
    table = human_table(rankings)
    models = [name for name in table.models if name in runs]
    if len(models) < MIN_MODELS:
        raise ValueError(
            f"{path}: ranks {', '.join(table.models)}, and the runs are of {', '.join(runs)}: they share {len(models)} "
            f"models where {MIN_MODELS} are needed; name the folders as the file does: NAME=DIR"
        )
    shared = [story for story in table.stories if story in stories]
    if not shared:
        raise ValueError(
            f"{path}: ranks rewrites of stories such as {table.stories[0]!r}, and the runs have none of them"
        )
    left_out = []
    if other := [name for name in table.models if name not in runs]:
        left_out.append(f"People ranked {len(other)} models that there is no run of: {', '.join(other)}.")
    if unranked := [name for name in runs if name not in table.models]:
        left_out.append(f"People did not rank {len(unranked)} of the models: {', '.join(unranked)}.")
    if len(shared) < len(table.stories):
        left_out.append(f"People ranked {len(table.stories) - len(shared)} stories that are not among the runs'.")
    return table.only(models, shared), left_out
