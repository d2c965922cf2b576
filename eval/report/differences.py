"""Tables of differences from the base: of each task what its word rests on, and the gains by a second encoder."""

from dataclasses import replace

from sozo.eval.compare import compared_measures
from sozo.eval.outcome import FELL, BoundState, MethodOutcome
from sozo.eval.report.cells import change_cell, seed_cell
from sozo.eval.report.labels import measure_label
from sozo.eval.report.tables import Findings, TaskOnPage, without_empty
from sozo.eval.second_encoder import SecondGain
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import SHARE, number
from sozo.scoring.second_encoder import Gain
from sozo.scoring.statistics.means import FEW, unseen_share
from sozo.scoring.table import Cell, Table, TableRow
from sozo.scoring.translatable import translatable

_DEVIATIONS = Measure("deviations", 2)
_ONE_DIGIT = Measure("share", 3, share=True)


def differences(found: Findings) -> list[Table]:
    """What `sozo compare` prints and the page holds."""
    tables = [difference_table(page) for page in found.tasks if found.compared.against]
    return [*tables, *gain_tables(found), *(table for page in found.tasks for table in page.between())]


def difference_table(page: TaskOnPage) -> Table:
    """A task's differences: its first measure and what that must not cost, as the word has it; then the others."""
    task, compared = page.task, page.compared
    bounds = [*(bound.measure for bound in task.bounds()), *([task.second.measure] if task.second else [])]
    others = [measure for measure in compared_measures(task)[1:] if measure not in bounds]
    rows = []
    for method in (method for method in compared.methods if method.name in compared.against):
        measures = (task.measures[0], *bounds, *others)
        changes = {measure: compared.changes.get((method.name, measure.name)) for measure in measures}
        if not any(changes.values()):
            continue
        cells = {measure: change_cell(change, measure) for measure, change in changes.items()}
        if one := page.found.get(method.name):
            cells[one.measure] = _first(one)
            cells |= {state.measure: _bound(state) for state in one.bounds}
        base = compared.against[method.name].name
        rows.append(TableRow(method.name, tuple(cells.values()), base, seeds=method.seeds))
    names = [page.heading, *map(measure_label, (*bounds, *others))]
    least = min((one.change.n for one in page.found.values() if one.change.low is not None), default=FEW)
    scales = dict.fromkeys(run.scale.get("score_name") for run in page.runs)
    notes = ("differences_note", "star_note", *filter(None, scales), *few(least))
    return without_empty(Table(page.titled("{task}: differences"), ("model", *names), tuple(rows), notes, of=page.of))


def few(n: int) -> list[str]:
    """What is true of intervals over so few values, if these are few."""
    return [translatable("few_values", n=n, share=number(unseen_share(n), _ONE_DIGIT))] if 1 < n < FEW else []


def _first(one: MethodOutcome) -> Cell:
    """The first measure's difference, with the interval and the p that the word rests on."""
    noise = number(one.judge_noise, replace(one.measure, digits=one.measure.digits + 1))
    noisy = [translatable("with the judge's noise, {noise}", noise=noise)] if one.judge_noise else []
    return change_cell(replace(one.change, p=one.p), one.measure, *noisy, level=one.level)


def _bound(state: BoundState) -> Cell:
    """A bound's change and whether it held."""
    came_out = "rose" if state.of_base == FELL else state.state
    why = [state.why] if state.why and state.of_base != FELL and state.why != state.change.reason else []
    counts = [state.counts] if state.counts else []
    return replace(change_cell(state.change, state.measure, came_out, *counts, *why), why=state.why)


def gain_tables(found: Findings) -> list[Table]:
    """Of each task the gains by the runs' own encoder and by the second one."""
    tables, compared = [], found.compared
    for task in dict.fromkeys(one.task for one in found.gains):
        own = {one.model: one for one in found.gains if one.task == task}
        rows = []
        for method in compared.methods:
            seeds = [_gain_cells(own[name]) for run in method.runs.values() if (name := run.name) in own]
            if seeds:
                cells, base = tuple(map(seed_cell, zip(*seeds, strict=True))), compared.against[method.name].name
                rows.append(TableRow(method.name, cells, base, seeds=min(method.seeds, len(seeds))))
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
