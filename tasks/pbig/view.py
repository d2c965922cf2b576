"""How PBIG's results are shown: gates first, then what an idea is worth, by criterion, and how alike ideas are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sozo.scoring.measure import DASH, Cell, Estimate, Measure, estimate_text, mean_cell, percent, share_cell
from sozo.tasks.page_parts import Column, Entry, ModelTable, Point, ReaderItem, Scatter, Section
from sozo.tasks.pbig.finished import LEDGER, PATENTS, ROWS, FinishedPbig
from sozo.tasks.pbig.ideas import LIMITS, trial_patents
from sozo.tasks.pbig.rows import BY_CRITERION, DISTANCE, GATES, SAME_TITLE, WORTH
from sozo.tasks.pbig.settings import digest
from sozo.tasks.view import Card, View

_WORTH = Measure(WORTH, 3)


class PbigView(View[FinishedPbig]):
    """Means with n of N: a criterion behind a gate is asked of those ideas only that passed it."""

    files = ("config.json", ROWS, LEDGER, "responses")
    artifacts = (ROWS, LEDGER, PATENTS)
    words = (*BY_CRITERION, *LIMITS)

    def cells(self, measures: Sequence[Measure], metrics: Mapping[str, Any]) -> dict[str, str]:
        answers, known = metrics["num_answers"], {measure.name: measure for measure in measures}
        cells = {
            "Source": metrics["source"],
            "Judge": f"{metrics['judge']}, {metrics['prompt']}",
            "Patents": f"{metrics['num_items']:,}",
            "Ideas": f"{metrics['valid']:,} of {answers:,} ({percent(metrics['valid'], answers)})",
        }
        cells |= {f"  cut: {name}": f"{n:,}" for name, n in metrics["cut"].items() if n}
        cells |= {f"No score: {reason}": f"{n:,} of {answers:,}" for reason, n in metrics["reasons"].items()}
        for name in _in_order(known):
            measure = known[name]
            cells[_heading(measure)] = estimate_text(measure, Estimate(**metrics["measures"][name]))
        for expert, mean in metrics["experts"].items():
            if len(metrics["experts"]) > 1:
                cells[f"  worth to {expert}"] = estimate_text(
                    _WORTH, Estimate(mean["mean"], mean["low"], mean["high"], mean["n"], answers)
                )
        judged = sum(metrics["statuses"].values())
        cells |= {f"Judgements: {s}": f"{n:,} of {judged:,}" for s, n in metrics["statuses"].items() if n}
        tokens = f"{metrics['prompt_tokens']:,} in, {metrics['completion_tokens']:,} out"
        unknown = metrics["unknown_cost"]
        cost = f"cost of {unknown:,} replies unknown" if unknown else f"cost {metrics['cost']:.4f}"
        return cells | {"Judge's tokens": f"{tokens}, {cost}"}

    def facts(self, metrics: Mapping[str, Any]) -> dict[str, str]:
        return {"judge": metrics["judge"], "judge_prompt": metrics["prompt"]}

    def card(self, measures: Sequence[Measure], metrics: Mapping[str, Any], settings: Mapping[str, Any]) -> Card:
        _, rows = super().card(measures, metrics, settings)
        judge = self.facts(metrics) | {"imitated": settings["experts"]}
        where = {"dataset_name": f"{metrics['num_items']} patents of one's own", "dataset_type": "other-patents"}
        if _is_trial(settings):
            where = {"dataset_name": "24 technologies invented for sozo", "dataset_type": "sozo-technologies"}
        shown = [replace(row, args={**row.args, **judge}) for row in rows]
        return {"task_name": "Product ideas from patents", **where}, shown

    def section(self, measures: Sequence[Measure], runs: Mapping[Path | None, Sequence[FinishedPbig]]) -> Section:
        every = [run for own in runs.values() for run in own]
        known = {measure.name: measure for measure in measures}
        trial = any(_is_trial(run.settings) for run in every)
        experts = dict.fromkeys(name for run in every for name in run.metrics["experts"])
        gates = (
            Column("pbig_valid", cell=_valid),
            *(Column(name, known[name]) for name in GATES.values()),
            *(Column(name, known[name]) for name in (WORTH, DISTANCE, SAME_TITLE)),
        )
        axes = tuple(Column(criterion, known[name]) for criterion, name in BY_CRITERION.items())
        tables = [
            ModelTable("pbig_gates", gates, ("pbig_note", *(("pbig_trial_note",) if trial else ()), "scale_note")),
            ModelTable("pbig_axes", axes, ("pbig_axes_note",)),
        ]
        if len(experts) > 1:
            columns = tuple(Column(name, cell=_worth_to(name)) for name in experts)
            tables.append(ModelTable("pbig_experts", columns, ("pbig_experts_note",), heat=True))
        points = {run.folder: point for run in every if (point := _point(run))}
        return tables, (Scatter("pbig_chart", "pbig", "pbig_distance_axis", WORTH, points),)

    def settings_shown(self, run: FinishedPbig) -> list[tuple[str, Any]]:
        failed = {status: n for status, n in run.metrics["statuses"].items() if status != "ok" and n}
        return [
            ("pbig_judge", run.metrics["judge"]),
            ("pbig_imitated", ", ".join(run.settings.get("experts") or ()) or None),
            ("pbig_patents", f"{run.metrics['num_items']:,}"),
            ("pbig_cut", f"{sum(run.metrics['cut'].values()):,}"),
            ("pbig_failed", ", ".join(f"{n:,} {status}" for status, n in failed.items()) or "0"),
        ]

    def scale_text(self, run: FinishedPbig) -> str:
        judge = run.settings["judge"]
        return f"judge {judge['model']} with the prompt {judge['prompt']}, language {run.settings['language']}"

    def entries(self, run: FinishedPbig) -> Iterator[tuple[str, Entry]]:
        for row in run.rows:
            text = "\n".join(f"{name}: {text}" for name, text in row.fields.items()) if row.fields else row.text
            values, marks = row.values(), dict[str, float | None]()
            for criterion, name in BY_CRITERION.items():
                if name in values:
                    marks[criterion] = round(values[name], 2)
            notes = [
                f"{expert}, {criterion}: {opinion.scores[criterion]}. {note['reason']} ({note['confidence']}%)"
                for expert, opinion in row.opinions.items()
                for criterion, note in opinion.notes.items()
            ]
            facts = {"length": len(row.text), "extras": list(row.cut)}
            more = {"marks": marks or None, "note": "\n".join(notes) or None, "facts": facts, "states": list(row.cut)}
            yield row.item, Entry(text, values.get(WORTH), row.status, more)

    def reader_item(self, run: FinishedPbig, item: str, entries: Sequence[Entry]) -> ReaderItem:
        patent = run.patents[item]
        return ReaderItem((item, patent.abstract), patent.domain, patent.title, patent.abstract, entries)


def _is_trial(settings: Mapping[str, Any]) -> bool:
    return bool(settings["patents_sha256"] == digest(map(asdict, trial_patents())))


def _in_order(known: Mapping[str, Measure]) -> list[str]:
    """The gates first: what stands behind them rests on them."""
    gates = list(GATES.values())
    return [*gates, *(name for name in known if name not in gates)]


def _heading(measure: Measure) -> str:
    return measure.short.replace("_", " ").capitalize().replace("b2b", "B2B").replace("b2c", "B2C")


def _valid(run: FinishedPbig) -> Cell:
    return share_cell(run.metrics["valid"], run.metrics["num_answers"])


def _worth_to(expert: str) -> Any:
    def cell(run: FinishedPbig) -> Cell:
        mean = run.metrics["experts"].get(expert)
        if mean is None or mean["mean"] is None:
            return Cell(DASH)
        shown = mean_cell(mean["mean"], _WORTH, (mean["low"], mean["high"]), (mean["n"], run.metrics["num_answers"]))
        return Cell(shown.value, shown.small, heat=mean["mean"], exact=shown.exact)

    return cell


def _point(run: FinishedPbig) -> Point | None:
    """How far apart ideas are, a hundredfold since a picture's ends are whole numbers, and what they are worth."""
    apart, worth = (run.metrics["measures"][name] for name in (DISTANCE, WORTH))
    if apart["mean"] is None or worth["mean"] is None:
        return None
    return Point(100 * apart["mean"], worth["mean"], worth["low"], worth["high"])
