"""How SIPeN's results are shown: controls first, then Tables 4 to 6, beside which answers were given."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sozo.scoring.measure import DASH, Cell, Estimate, Measure, ends_text, estimate_text, known, n_of
from sozo.tasks.page_parts import Column, Entry, ModelTable, ReaderItem, Section
from sozo.tasks.sipen.finished import CONTROLS, FinishedSipen, is_trial
from sozo.tasks.sipen.items import CONTROL, SCALES, STRONGER, WEAKER
from sozo.tasks.sipen.tables import OTHER
from sozo.tasks.view import Card, View

Stored = Mapping[str, Any]  # a `Share` or a `Contrast` as `metrics.json` has it
_SHARE = Measure("share", share=True)
_CATEGORIES = {"quantifier": "量化詞", "numeral": "数詞", "adjective": "形容詞"}
_STEPS = ("1 step", "2 steps")
_PLACES = {STRONGER: _STEPS, WEAKER: _STEPS, "": (STRONGER, WEAKER)}  # what a contrast's row compares, by its direction
_MOST_UNPARSEABLE = 0.02  # more answers that are none of the options than this, and a line says so


class SipenView(View[FinishedSipen]):
    """A model that always says No is perfect by the paper's implicature labels: the answers stand beside the tables."""

    def cells(self, measures: Sequence[Measure], metrics: Mapping[str, Any]) -> dict[str, str]:
        cells = {"Source": metrics["source"]}
        asked = f"{metrics['num_premises']:,} premises, {metrics['num_items']:,} hypotheses and controls"
        cells |= {"Asked": asked, "Controls": estimate_text(measures[0], Estimate(**metrics["measures"][CONTROLS]))}
        for direction, share in metrics["controls"].items():
            cells[f"  {direction} ({CONTROL[direction]})"] = _text(share)
        for category, row in metrics["accuracy"].items():
            cells |= {f"{category.capitalize()}, {name}": _text(share) for name, share in row.items()}
        for direction, counts in metrics["answers"].items():
            total = sum(counts.values())
            given = ", ".join(f"{answer} {n / total:.0%}" for answer, n in counts.items() if n or answer != OTHER)
            cells[f"Answers, {direction}"] = f"{given} of {total:,}"
        for row in (*metrics["steps"], *metrics["directions"]):
            shares = f"{_percent(row['first'])}, {_percent(row['second'])} of {row['first']['n']:,}"
            cells[_column(*_row_key(row), ", ".join(_PLACES[row["direction"]]))] = (
                f"{shares}, p = {row['p_holm']:.3f} (Holm)"
            )
        return cells

    def notes(self, metrics: Mapping[str, Any]) -> list[str]:
        notes, answers, broken = [], metrics["num_answers"], metrics["reasons"]["unparseable"]
        if constant := metrics["constant"]:
            called = "not among the options" if constant == OTHER else constant
            notes.append(f"CONSTANT ANSWER: nearly every answer is {called}; accuracies say nothing of understanding.")
        if broken > _MOST_UNPARSEABLE * answers and constant != OTHER:
            notes.append(f"UNPARSEABLE: {broken:,} of {answers:,} answers are none of the options, and count as wrong.")
        lines = []
        for answer, scores in metrics["constant_scores"].items():
            known_scores = {name: value for name, value in scores.items() if value is not None}
            lines.append(f"always {answer}: " + ", ".join(f"{n} {value:.1%}" for n, value in known_scores.items()))
        return [*notes, f"Whoever does not read scores: {'; '.join(lines)}."]

    def card(self, measures: Sequence[Measure], metrics: Mapping[str, Any], settings: Mapping[str, Any]) -> Card:
        _, rows = super().card(measures, metrics, settings)
        where = {
            "dataset_name": f"{metrics['num_premises']} premises of one's own",
            "dataset_type": "other-implicatures",
        }
        if is_trial(settings):
            where = {"dataset_name": "48 Japanese premises written for sozo", "dataset_type": "sozo-implicatures"}
        return {"task_name": "Scalar implicatures", **where}, rows

    def labels(self) -> dict[str, tuple[str, str]]:
        """Those of columns too, whose names are made of an expression, a direction and a place."""
        labels = super().labels()
        for category, japanese in _CATEGORIES.items():
            for name in ("implicature", "entailment", "neither"):
                labels[f"{category}: {name}"] = f"{category}: {name}", f"{japanese}：{labels[name][1]}"
        words = {word: word for scale in SCALES.values() for word in scale.expressions} | _CATEGORIES
        for expression, japanese in words.items():
            for direction, places in _PLACES.items():
                for place in places:
                    name = _column(expression, direction, place)
                    known_words = [labels[word][1] for word in (direction, place) if word]
                    labels[name] = name, "、".join((japanese, *known_words))
        return labels

    def section(self, measures: Sequence[Measure], runs: Mapping[Path | None, Sequence[FinishedSipen]]) -> Section:
        every = [run for own in runs.values() for run in own]
        trial = ["sipen_trial_note"] if any(is_trial(run.settings) for run in every) else []
        controls = [d for d in CONTROL if any(d in run.metrics["controls"] for run in every)]
        categories = dict.fromkeys(c for run in every for c in run.metrics["accuracy"])
        chances = (Column("constant", cell=_constant), Column("answers_given", cell=_given))
        first = (Column("controls", measures[0]), *(Column(d, cell=partial(_control, d)) for d in controls), *chances)
        table4 = [
            Column(f"{category}: {name}", cell=partial(_accuracy, category, name), paper=f"{category}_{name}")
            for category in categories
            for name in ("implicature", "entailment", "neither")
        ]
        rows = dict.fromkeys(_row_key(row) for run in every for row in _contrasts(run))
        contrasts = [
            Column(_column(*key, place), cell=partial(_place, key, k))
            for key in rows
            for k, place in enumerate(_PLACES[key[1]])
        ]
        tables = [
            ModelTable("sipen_controls", first, (*trial, "sipen_controls_note", "scale_note")),
            ModelTable("sipen_table4", tuple(table4), ("sipen_note",), heat=True, paper="sipen_accuracy"),
            ModelTable("sipen_tables56", tuple(contrasts), ("sipen_contrast_note",)),
        ]
        return [table for table in tables if table.columns], ()

    def settings_shown(self, run: FinishedSipen) -> list[tuple[str, Any]]:
        return [("sipen_prompt", run.settings.get("sipen_prompt")), ("sipen_items", f"{len(run.asked):,}")]

    def scale_text(self, run: FinishedSipen) -> str:
        return f"prompt {run.settings.get('sipen_prompt')}, {len(run.asked):,} items"

    def entries(self, run: FinishedSipen) -> Iterator[tuple[str, Entry]]:
        for answer, reply in zip(run.answers(), run.replies, strict=True):
            score = answer.values.get(CONTROLS)
            yield answer.item, Entry(answer.text, score, reply.answer or "unparseable")

    def reader_item(self, run: FinishedSipen, item: str, entries: Sequence[Entry]) -> ReaderItem:
        asked = run.asked[item]
        text = "\n".join(filter(None, (asked.context, f"T: {asked.premise}", f"H: {asked.hypothesis}")))
        return ReaderItem((item, text), asked.direction, item, text, entries)


def _percent(share: Stored) -> str:
    """With the paper's one decimal; a dash of nothing."""
    return f"{share['k'] / share['n']:.1%}" if share["n"] else DASH


def _text(share: Stored) -> str:
    ends = ends_text((share["low"], share["high"]), _SHARE)
    return f"{_percent(share)}{ends and f' ({ends})'}, {share['k']:,} of {share['n']:,}"


def _cell(share: Stored | None, *small: str, heat: bool = False) -> Cell:
    if share is None or not share["n"]:
        return Cell(DASH)
    value, ends = share["k"] / share["n"], ends_text((share["low"], share["high"]), _SHARE)
    exact = known(value=value, low=share["low"], high=share["high"], n=share["k"], of=share["n"])
    below = (*([] if heat else [ends]), n_of(share["k"], share["n"]), *small)
    hover = f"95%: {ends}" if heat else ""
    return Cell(_percent(share), below, heat=100 * value if heat else None, hover=hover, exact=exact)


def _control(direction: str, run: FinishedSipen) -> Cell:
    return _cell(run.metrics["controls"].get(direction))


def _accuracy(category: str, name: str, run: FinishedSipen) -> Cell:
    return _cell(run.metrics["accuracy"].get(category, {}).get(name), heat=True)


def _constant(run: FinishedSipen) -> Cell:
    """Whether one answer is nearly every one, and what the constants score on controls."""
    constant = run.metrics["constant"]
    return Cell(f"{constant}!" if constant else "no", exact=known(value=constant or "no"))


def _given(run: FinishedSipen) -> Cell:
    """Shares of the answers on hypotheses and controls together."""
    count: dict[str, int] = {}
    for counts in run.metrics["answers"].values():
        for answer, n in counts.items():
            count[answer] = count.get(answer, 0) + n
    total = sum(count.values())
    return Cell(", ".join(f"{answer} {n / total:.0%}" for answer, n in count.items()), (f"{total:,}",), exact={**count})


def _contrasts(run: FinishedSipen) -> list[Stored]:
    return [*run.metrics["steps"], *run.metrics["directions"]]


def _row_key(row: Stored) -> tuple[str, str]:
    return row["expression"], row["direction"]


def _column(expression: str, direction: str, place: str) -> str:
    return f"{', '.join(filter(None, (expression, direction)))}: {place}"


def _place(key: tuple[str, str], place: int, run: FinishedSipen) -> Cell:
    """The share of No in one of two places; below the second the p-value of the difference."""
    row = next((row for row in _contrasts(run) if _row_key(row) == key), None)
    if row is None:
        return Cell(DASH)
    return _cell(row["second" if place else "first"], *([f"p = {row['p_holm']:.3f}"] if place else []))
