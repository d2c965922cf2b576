"""Both frontiers of a study's nouns and encoder, at the number of lists at which its rows are compared."""

from pathlib import Path

from sozo.data.record import read_json
from sozo.eval.frontier import VALUES, Curves, FrontierOptions, frontier_curves, read_curves
from study.config import Study


def frontiers(study: Study, lists: int) -> Curves:
    """The curves, drawn into a folder of the study the first time; none without two lists to compare."""
    if lists < 2:
        return {}
    options = FrontierOptions(
        nouns=study.random_nouns, embedding_model=study.sampling.get("embedding_model"), lists=lists
    )
    frontier_curves(folder := Path(study.step_folder(f"frontier-{lists}")), options)
    return read_curves(read_json(folder / VALUES))
