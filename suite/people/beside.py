"""People beside models and random lists: the same rule, the same scorer, one plane; and no test between them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sozo.data.errors import UserError
from sozo.data.schema import ERROR
from sozo.eval.evaluated import find_evaluated
from sozo.eval.report.charts import Spot, scatter_chart
from sozo.eval.report.labels import english, translate_chart
from sozo.models.nouns import RandomNouns
from sozo.scoring.final_text import final_text
from sozo.scoring.languages import read_nouns
from sozo.scoring.measure import Measure
from sozo.scoring.statistics import mean_interval
from sozo.scoring.statistics.hill import hill_interval
from sozo.scoring.table import Cell, Content, Table, tabulate
from sozo.suite.people.lists import TEXTS, people_words
from sozo.suite.people.scores import score_written
from sozo.tasks.dat.summary import DIFFERENT_WORDS

if TYPE_CHECKING:
    import pandas as pd

    from sozo.tasks.dat.task import Dat

_RANDOM = 1000  # lists


@dataclass(frozen=True, slots=True)
class Plane:
    """A table of people, random lists and models, and its picture: an SVG, with each spot's colour and name."""

    table: Table
    svg: str
    keys: list[tuple[int, str]]
    japanese: dict[str, str]  # its note


def beside(task: "Dat", people: "pd.DataFrame", place: str, measure: Measure) -> Plane:
    """`people` are `score_written`'s results; of models the finished runs of DAT below `place`, as they were drawn.

    Different words are those that count, expected in as many lists as the side with the fewest scored ones has.
    """
    sides = {"People": people, "Random nouns": _scored(task, _random(task))}
    for model in find_evaluated([place]):
        if run := model.run(task.name):
            if run.language != task.language:
                raise UserError(
                    f"{run.folder}: its words are of the language {run.language}, not {task.language}"
                )
            answers = run.table().to_pylist()
            came = [row["text"] for row in answers if row["reason"] != ERROR]
            sides[model.name] = _scored(task, came)
    if len(sides) == 2:
        raise UserError(f"{place}: holds no run of DAT; give a folder of sozo dat")
    size = min(results["score"].count() for results in sides.values())
    comma = ", " if task.language == "en" else "、"
    rows: list[dict[str, Content]] = []
    spots = []
    for name, results in sides.items():
        scored = results.dropna(subset="score")
        each = scored.groupby("participant", sort=False)["score"].mean()
        mean = mean_interval(each.to_numpy())
        words = hill_interval(scored["words"].str.split(comma).tolist(), size)
        rows.append(
            {
                "Who": name,
                "Mean": Cell(mean, measure),
                "Lists with a score": Cell.share(len(scored), len(results)),
                "Different words": Cell(words, DIFFERENT_WORDS),
            }
        )
        if mean.value is not None and words.value is not None:
            ends = None if mean.high is None else (mean.low or 0.0, mean.high)
            spot = Spot(name, (words.value, mean.value), (), len(rows) - 1, ends)
            spots.append(spot)
    axes = english("words_axis"), english("score_axis")
    svg = translate_chart(scatter_chart(spots, *axes, "beside")) if spots else ""
    note, japanese = (text.format(n=size) for text in TEXTS["notes"]["beside"])
    table = tabulate("People beside models", rows, [note])
    keys = [(spot.place, spot.name) for spot in spots]
    return Plane(table, svg, keys, {note: japanese})


def _random(task: "Dat") -> list[str]:
    nouns = RandomNouns(read_nouns(None, task.language))
    return [each.text for each in nouns.answer([""] * _RANDOM, 1, 0)]


def _scored(task: "Dat", texts: list[str]) -> "pd.DataFrame":
    """Lists as if each were a person's."""
    import pandas as pd

    finals = [final_text(text) or "" for text in texts]
    words = [people_words(text, task.language) for text in finals]
    lists = pd.DataFrame({"text": finals, "words": words, "trial": ""})
    return score_written(lists.assign(participant=lists.index), task.scorer)
