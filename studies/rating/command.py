"""`sozo rate`: answers of finished runs as one HTML file in which anyone judges them blind."""

import math
import re
from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal

import typer

from sozo.data.errors import UserError
from sozo.data.jsonl import write_objects
from sozo.data.record import write_whole
from sozo.eval.evaluated import Evaluated, find_evaluated
from sozo.eval.terminal import print_lines
from sozo.scoring.final_text import final_text
from sozo.studies.rubric import load_rubric
from sozo.suite.people.page import check_page, consent_text, render_page, texts_of
from sozo.suite.rubrics import Criterion

_OWN = Path(__file__).with_name("rate.html")
_CONTROL = re.compile("placebo|hotter|temperature=")  # in a name; rate.yaml says what
_IN_ONE_GO = 20  # what one person judges until the page says what came out
_AGAIN = 4  # come twice in a study
_ALIKE = 0.1  # the share of a choice's variance that is its rater's, and its question's
Shown = dict[str, Any]  # an answer, as page and key have it
ByItem = dict[str, dict[str, list[Shown]]]  # item -> model -> answers


def rate(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="DIR", help="Folders of finished runs: DIR, NAME=DIR."),
    ],
    output: Annotated[Path, typer.Option(help="The page to write, such as duel.html.")],
    question: Annotated[
        Literal["creative", "better", "both"],
        typer.Option(help="Which is more creative, which is better, or both."),
    ] = "creative",
    rubric: Annotated[
        str | None,
        typer.Option(help="Scores: jcq, pbig, or a YAML file of criteria."),
    ] = None,
    rank: Annotated[
        bool, typer.Option("--rank", help="All models' answers are put in order.")
    ] = False,
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
    names = [model.name for model in models]
    items, answers = _asked(models)
    kind, size = ("order", max(2, len(names))) if rank else ("choose", 2)
    asked = ["creative", "better"] if question == "both" else [question]
    criteria: list[Shown] = [{"name": name} for name in asked]
    texts = {language: texts_of(_OWN, language) for language in ("ja", "en")}
    if rubric:
        kind, size = "scores", 1
        scales = load_rubric(rubric).criteria
        criteria = [_scale(scale) for scale in scales]
        texts["en"] |= {scale.name: scale.title for scale in scales}
        texts["ja"] |= {scale.name: scale.japanese or scale.title for scale in scales}
    for own in texts.values():
        own |= own[kind] | own["study" if key else "anyone"]
    random = Random(seed)
    rounds = draw(answers, list(combinations(names, size)), pairs, random)
    drawn = [one for trials in rounds for trial in trials for one in trial]
    for one in drawn:
        one["answer"] = f"{random.getrandbits(40):010x}"
    if not drawn:
        few = f"no question was answered by {size} models"
        raise UserError(f"{' '.join(runs)}: {few}; give runs of the same items")
    total = len(drawn) // size
    shown = total + _AGAIN + 1 if key else min(total, _IN_ONE_GO)
    if key:
        write_objects(key, drawn)
        for one in drawn:
            del one["system"], one["id"]
        if size == 2:
            print_lines([needed(len(rounds))])
    controls = [
        {"name": name, "control": "".join(_CONTROL.findall(name.casefold())[:1])}
        for name in names
    ]
    settings = {
        "name": "rated",
        "language": "ja",
        "texts": texts,
        "criteria": criteria,
        "items": items,
        "rounds": rounds,
        "systems": [] if key or size != 2 else controls,
        "anonymous": not key,
        "again": _AGAIN if key else 0,
        "shown": shown,
    }
    page = render_page(_OWN, settings, agreed)
    write_whole(output, page)
    print_lines([f"{output}: {len(page) / 1e6:.1f} MB; open it in a browser"])


def _scale(criterion: Criterion) -> Shown:
    """A criterion as the page asks it: each score with what it stands for, as far as its rubric says so."""
    about, *said = re.split(r"(?<!\S)(\d)\. ", criterion.rubric)
    stand = dict(zip(said[::2], said[1::2], strict=True))
    return asdict(criterion) | {
        "about": f"{criterion.description} {about}",
        "scores": [[n, stand.get(str(n), "")] for n in criterion.scores],
    }


def _asked(models: Sequence[Evaluated]) -> tuple[dict[str, str], ByItem]:
    """What was asked, by item, and what each model answered that is not empty, usable or not."""
    items: dict[str, str] = {}
    answers: ByItem = {}
    for model in models:
        for run in model.runs.values():
            for one in run.answers():
                prompt, text = run.prompts[one.item], final_text(one.text)
                if items.setdefault(one.item, prompt) != prompt:
                    other = f"its item {one.item!r} has another text than in the others"
                    raise UserError(f"{run.folder}: {other}; give runs of one task")
                if text:
                    own = answers.setdefault(one.item, {}).setdefault(model.name, [])
                    facts = {"system": model.name, "item": one.item, "id": one.id}
                    own.append({**facts, "text": text})
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
        rounds.append([])
        for models in random.sample(meetings, len(meetings)):
            can = [own for own in answers.values() if all(map(own.get, models))]
            if not can:
                return rounds[:-1]
            own = max(
                can, key=lambda own: (sum(map(len, own.values())), random.random())
            )
            mixed = random.sample(models, len(models))
            rounds[-1].append([own[model].pop() for model in mixed])
    return rounds


def needed(m: int) -> str:
    """How many raters an interval of some width needs, where each judges `m` pairs of the same two models."""
    counts = []
    for width in (0.2, 0.3, 0.4):
        room = (width / 1.96) ** 2 - _ALIKE / m
        raters = math.ceil((_ALIKE + (1 - 2 * _ALIKE) / m) / room) if room > 0 else None
        counts.append(f"{width} {raters or 'needs more pairs'}")
    formula = f"(a + (1 - 2a) / m) / ((width / 1.96)^2 - a / m), a = {_ALIKE}"
    return f"raters for an interval of a width, m = {m} pairs of two models: {', '.join(counts)}; {formula}"
