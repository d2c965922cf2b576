"""`sozo rate`: answers of finished runs as one HTML file in which anyone judges them blind."""

import re
from collections.abc import Sequence
from dataclasses import asdict
from itertools import chain, combinations
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer

from sozo.data.errors import UserError
from sozo.data.jsonl import write_objects
from sozo.data.record import write_whole
from sozo.eval.curve import lines
from sozo.eval.evaluated import Evaluated, find_evaluated
from sozo.eval.seeds import Method
from sozo.eval.terminal import print_lines
from sozo.scoring.final_text import final_text
from sozo.studies.rubric import load_rubric
from sozo.suite.people.page import check_page, consent_text, render_page, texts_of

_OWN = Path(__file__).with_name("rate.html")
_IN_ONE_GO = 20  # what one person judges until the page says what came out
_AGAIN = 4  # come twice in a study
Shown = dict[str, Any]  # an answer, as page and key have it
ByItem = dict[str, dict[str, list[Shown]]]  # item -> model -> answers


def rate(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="DIR", help="Folders of finished runs: DIR, NAME=DIR."),
    ],
    output: Annotated[Path, typer.Option(help="The page to write, such as duel.html.")],
    by: Annotated[
        str,
        typer.Option(
            help="Duels by which is more creative, which is better, or both; rank; or scores by jcq, pbig, a YAML file."
        ),
    ] = "creative",
    pairs: Annotated[
        int, typer.Option(min=1, help="Pairs to draw, or answers to score, or orders.")
    ] = 100,
    seed: Annotated[int, typer.Option(help="Draws them.")] = 0,
    key: Annotated[
        Path | None,
        typer.Option(help="A study: names go into this file (JSONL), not the page."),
    ] = None,
    consent: Annotated[
        Path | None, typer.Option(help="A text to agree to before it begins.")
    ] = None,
) -> None:
    """Blind duels of models' answers: one HTML file in which anyone judges.

    It needs no network, and gives a CSV file that `sozo agreement` and `sozo correlate` read. Instead of duels, answers
    are scored by a rubric, or put in order.
    """
    check_page(output)
    if key and key.exists():
        raise UserError(f"{key}: exists; name another file")
    agreed = consent_text(consent)
    models = find_evaluated(runs)
    items, answers = _asked(models)
    asked = ["creative", "better"] if by == "both" else [by]
    kind, size = "choose", 2
    if by == "rank":
        kind, size, asked = "order", max(2, len(models)), ["creative"]
    criteria: list[Shown] = [{"name": name} for name in asked]
    texts = {language: texts_of(_OWN, language) for language in ("ja", "en")}
    if not {*asked} <= {"creative", "better"}:
        kind, size, criteria = "scores", 1, []
        for scale in load_rubric(by).criteria:
            stand = re.sub(r"\s(?=\d\. )", "\n", scale.rubric)
            about = f"{scale.description}\n{stand}"
            criteria.append(asdict(scale) | {"scores": scale.scores, "about": about})
            texts["en"][scale.name] = scale.title
            texts["ja"][scale.name] = scale.japanese or scale.title
    readers = "trained" if any(model.trained for model in models) else "anyone"
    for own in texts.values():
        own |= own[kind] | own["study" if key else readers]
    random = Random(seed)
    meetings = [*combinations([model.name for model in models], size)]
    rounds = draw(answers, meetings, pairs, random)
    drawn = list(chain(*chain(*rounds)))
    for one in drawn:
        one["answer"] = f"{random.getrandbits(40):010x}"
    if not drawn:
        raise UserError(
            f"{' '.join(runs)}: no question was answered by {size} models; give runs of the same items"
        )
    texts["ja" if re.search("[ぁ-ん]", str(items)) else "en"]["foreign"] = ""
    total = len(drawn) // size
    if key:
        write_objects(key, drawn)
        for one in drawn:
            del one["system"], one["id"]
    settings = {
        "name": "rated",
        "texts": texts,
        "criteria": criteria,
        "items": items,
        "rounds": rounds,
        "models": len(models),
        "systems": [] if key else _known(models),
        "anonymous": not key,
        "again": _AGAIN if key else 0,
        "shown": total + _AGAIN + 1 if key else min(total, _IN_ONE_GO),
    }
    page = render_page(_OWN, settings, agreed)
    write_whole(output, page)
    print_lines([f"{output}: {len(page) / 1e6:.1f} MB; open it in a browser"])


def _known(models: Sequence[Evaluated]) -> list[Shown]:
    """Each model by name, with what its runs record: its last training, and `of` which cooler one it is hotter."""
    hotter = {
        hot.name: {"by": "hotter", "of": cool.name}
        for task, _ in models[0].runs
        for cool, *line in lines(
            [Method(model.name, {"": model}) for model in models], task
        )
        for hot in line
    }
    known = []
    for model in models:
        said = [run.loaded.get("model_trained") for run in model.runs.values()]
        own = {"by": "untrained" if False in said else "", "measure": ""}
        for training in (*model.trainings, hotter.get(model.name, {})):
            own |= training
        known.append(own | {"name": model.name})
    return known


def _asked(models: Sequence[Evaluated]) -> tuple[dict[str, str], ByItem]:
    """What was asked, by item, and what each model answered that is not empty, usable or not."""
    items: dict[str, str] = {}
    answers: ByItem = {}
    for model in models:
        for run in model.runs.values():
            for one in run.answers():
                prompt = run.prompts[one.item]
                if items.setdefault(one.item, prompt) != prompt:
                    raise UserError(
                        f"{run.folder}: its item {one.item!r} has another text than in the others; give runs of one task"
                    )
                if text := final_text(one.text):
                    own = answers.setdefault(one.item, {}).setdefault(model.name, [])
                    own.append(
                        {
                            "system": model.name,
                            "item": one.item,
                            "id": one.id,
                            "text": text,
                        }
                    )
    return items, answers


def draw(
    answers: ByItem, meetings: Sequence[tuple[str, ...]], least: int, random: Random
) -> list[list[list[Shown]]]:
    """Rounds in which each of the `meetings` of models takes place once: what is judged together, an answer of each.

    They are `least` or a few more, or as many as can be, since an answer is taken out of `answers`. Next comes a
    question with the most answers left.
    """
    rounds: list[list[list[Shown]]] = []
    while meetings and len(rounds) * len(meetings) < least:
        trials = []
        for models in random.sample(meetings, len(meetings)):
            can = [own for own in answers.values() if all(map(own.get, models))]
            if not can:
                return rounds
            own = max(
                can, key=lambda own: (sum(map(len, own.values())), random.random())
            )
            mixed = random.sample(models, len(models))
            trials.append([own[model].pop() for model in mixed])
        rounds.append(trials)
    return rounds
