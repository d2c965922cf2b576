"""Tables of differences from the base: of each task what its word rests on, and the gains by a second encoder."""

from collections.abc import Sequence
from dataclasses import replace

from sozo.eval.compare import Compared, compared_measures
from sozo.eval.outcome import FELL, BoundState, MethodOutcome
from sozo.eval.report.cells import change_cell, seed_cell
from sozo.eval.report.labels import measure_label
from sozo.eval.report.tables import TaskOnPage, on_page, without_empty
from sozo.eval.second_encoder import SecondGain
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import SHARE, number
from sozo.scoring.second_encoder import Gain
from sozo.scoring.statistics.means import FEW, unseen_share
from sozo.scoring.table import Cell, Table, TableRow
from sozo.scoring.translatable import translatable

_DEVIATIONS = Measure("deviations", 2)
_ONE_DIGIT = Measure("share", 3, share=True)


def differences(compared: Compared, found: Sequence[MethodOutcome], gains: Sequence[SecondGain]) -> list[Table]:
    """What `sozo compare` prints and the page holds."""
    pages = on_page(compared)
    tables = [difference_table(page, found) for page in pages if compared.against]
    return [*tables, *gain_tables(gains, compared), *(table for page in pages for table in page.between())]


def difference_table(page: TaskOnPage, found: Sequence[MethodOutcome]) -> Table:
    """A task's differences: its first measure and what that must not cost, as the word has it; then the others."""
    task, compared = page.task, page.compared
    first, *others = compared_measures(task)
    bounds = [*(bound.measure for bound in task.bounds()), *([task.second.measure] if task.second else [])]
    others = [measure for measure in others if measure not in bounds]
    rows = []
    for method in (method for method in compared.methods if method.name in compared.against):
        changes = {measure: compared.changes.get((method.name, measure.name)) for measure in (first, *bounds, *others)}
        if not any(changes.values()):
            continue
        one = next((one for one in found if (one.task, one.model) == (task.name, method.name)), None)
        cells = {measure: change_cell(change, measure) for measure, change in changes.items()}
        if one is not None:
            cells[first] = _first(one)
            cells |= {state.measure: _bound(state) for state in one.bounds}
        seeds = len(method.runs) if method.several else 0
        rows.append(TableRow(method.name, tuple(cells.values()), compared.against[method.name].name, seeds=seeds))
    names = [page.heading, *map(measure_label, (*bounds, *others))]
    title = translatable("{task}: differences", task=translatable(task.name))
    of = page.label if page.caveats else ""
    return without_empty(Table(title, ("model", *names), tuple(rows), _notes(page, found), of=of))


def _notes(page: TaskOnPage, found: Sequence[MethodOutcome]) -> tuple[str, ...]:
    name, scales = page.task.name, (run.scale.get("score_name") for run in page.runs)
    least = min((one.change.n for one in found if one.task == name and one.change.low is not None), default=FEW)
    return ("differences_note", *filter(None, dict.fromkeys(scales)), *few(least))


def few(n: int) -> list[str]:
    """What is true of intervals over so few values, if these are few."""
    return [translatable("few_values", n=n, share=number(unseen_share(n), _ONE_DIGIT))] if 1 < n < FEW else []


def _first(one: MethodOutcome) -> Cell:
    """The first measure's difference, with the interval and the p that the word rests on."""
    if one.control is not None:
        change = one.control.change or one.change
        figures = [" ".join(pair) for pair in one.control.figures[1:]]
        reason = [one.control.reason] if one.control.reason else []
        return change_cell(change, one.measure, f"understanding {one.control.verdict}", *figures, *reason)
    noise = replace(one.measure, digits=one.measure.digits + 1)
    noisy = (
        [translatable("with the judge's noise, {noise}", noise=number(one.judge_noise, noise))]
        if one.judge_noise
        else []
    )
    return change_cell(replace(one.change, p=one.p), one.measure, *noisy, level=one.level)


def _bound(state: BoundState) -> Cell:
    """A bound's change and whether it held."""
    came_out = "rose" if state.of_base == FELL else state.state
    why = [state.why] if state.why and state.of_base != FELL and state.why != state.change.reason else []
    counts = [state.counts] if state.counts else []
    return replace(change_cell(state.change, state.measure, came_out, *counts, *why), why=state.why)


def gain_tables(gains: Sequence[SecondGain], compared: Compared) -> list[Table]:
    """Of each task the gains by the runs' own encoder and by the second one."""
    tables = []
    for task in dict.fromkeys(one.task for one in gains):
        own = {one.model: one for one in gains if one.task == task}
        rows = []
        for method in compared.methods:
            seeds = [_gain_cells(own[name]) for run in method.runs.values() if (name := run.name) in own]
            if seeds:
                cells, base = tuple(map(seed_cell, zip(*seeds, strict=True))), compared.against[method.name].name
                rows.append(TableRow(method.name, cells, base, seeds=len(seeds) if method.several else 0))
        encoder = next(iter(own.values())).encoder
        columns = ("model", "gain_own", encoder, "gain_shuffled", "gain_pairing", "known_pairs")
        title = translatable("{task}: gains by a second encoder", task=translatable(task))
        tables.append(Table(title, columns, tuple(rows), ("second_encoder_note",)))
    return tables


def _gain_cells(one: SecondGain) -> list[Cell]:
    if (parts := one.parts) is None:
        return [_gain(one.own), *[Cell()] * 4]
    return [*map(_gain, (one.own, parts.total, parts.shuffled, parts.pairing)), Cell(parts.known_pairs, SHARE)]


def _gain(gain: Gain | None) -> Cell:
    if gain is None:
        return Cell()
    counts = (f"n = {gain.n:,}, {gain.base_n:,}",)
    more = {"n": gain.n, "base_n": gain.base_n}
    return Cell(gain.deviations, _DEVIATIONS, gain.low, gain.high, below=counts, signed=True, more=more)
