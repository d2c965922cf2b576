"""The page of a study, or of any tables of answers, and the same in Markdown: claims, arms, rows, charts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sozo.data.markdown import bullets
from sozo.data.record import refuse_foreign, write_json, write_whole
from sozo.data.schema import Reason, iter_tables, part_paths
from sozo.data.study_folder import without_seed
from sozo.eval.curve import CURVE
from sozo.eval.evaluated import find_evaluated
from sozo.eval.findings import findings
from sozo.eval.report.answer import stated
from sozo.eval.report.charts import Spot, ridge_chart, scatter_chart, steps_chart
from sozo.eval.report.exports import write_tables
from sozo.eval.report.labels import english
from sozo.eval.report.render import render
from sozo.eval.report.tables import paper_table
from sozo.scoring.measure import (
    DIFFERENCE,
    FEWEST,
    Estimate,
    Measure,
    normal_interval,
)
from sozo.scoring.numbers import SHARE, p_value, share
from sozo.scoring.table import Cell, Content, Table, markdown, tabulate
from sozo.studies.study.beside_paper import beside_table
from sozo.studies.study.charts import different_words_chart
from sozo.studies.study.claims import (
    DEVIATIONS,
    DIFFERENT,
    MEASURES,
    ONE_SIDED,
    SCORE,
    SECOND,
    SHUFFLED,
    Difference,
    RowMeasure,
    measured,
    seeds_cell,
    when_noted,
)
from sozo.studies.study.control_tasks import EXPLANATION, heading
from sozo.studies.study.result import (
    StudyResult,
    base_values,
    difference,
    patterns,
    row_values,
)
from sozo.studies.study.table11 import Table11, Table11Row
from sozo.tasks.dat.instruments import DIVERSITY
from sozo.tasks.dat.summary import DatSummary
from sozo.tasks.dat.table import usable_scores
from sozo.tasks.dat.view import INSTRUMENTS, DatView, instrument_cell, instruments_of

REASONS = {
    "format": "not exactly ten lines “k. word”",
    "not_japanese": "a letter that is not Japanese",
    "not_english": "a letter that is not Latin",
    "symbol": "punctuation, emoji, control characters",
    "not_noun": "a word that is no noun by the noun checker",
    "repeated_word": "a word comes twice (a rule of ours: repeated_words keep takes these lists)",
    "no_vector": "a word the encoder does not know",
    "ambiguous": "a word in kana that may be several nouns (かみ)",
}
_INSTRUMENTS = "What the mean is made of, and how the words are chosen"
_SAMPLES = 3  # answers of each row that are shown


def arm_spots(result: StudyResult) -> list[Spot]:
    """Each arm by its different words and its mean, with its seeds."""
    spots = []
    for place, arm in enumerate(result.arms):
        words = result.interval(DIFFERENT, arm)
        score = result.interval(SCORE, arm)
        if words and score and words.value is not None and score.value is not None:
            by_seed = [
                [result.values[name][arm.name][seed] for name in (DIFFERENT, SCORE)]
                for seed in arm.seeds
            ]
            seeds = [(x, y) for x, y in by_seed if x is not None and y is not None]
            spots.append(Spot(arm.name, (words.value, score.value), seeds, place))
    return spots


def measure_heading(result: StudyResult, name: str) -> str:
    """Of a measure's column."""
    return MEASURES[name].heading + (
        f" in {result.table.equal_size:,} usable" if name == DIFFERENT else ""
    )


def arms_table(result: StudyResult) -> Table:
    """Of each arm the mean of every measure over the seeds, and what the control tasks say."""
    rows = []
    for arm in result.arms:
        cells: dict[str, Content] = {"Arm": arm.name, "Seeds": len(arm.seeds)}
        for name in result.measures:
            measure = MEASURES[name]
            shuffled = (
                result.interval(name + SHUFFLED, arm)
                if name + SHUFFLED in MEASURES
                else None
            )
            below = [_shuffled_text(measure, shuffled.value)] if shuffled else []
            if not name.endswith(SHUFFLED):
                mean = result.interval(name, arm)
                cells[measure_heading(result, name)] = seeds_cell(
                    mean, measure.measure, measure.kind, below
                )
        for control in result.controls:
            mean = result.interval(control.name, arm)
            cells[heading(control)] = seeds_cell(mean, control)
        rows.append(cells)
    sentences = [
        f"{measure_heading(result, name)}: {MEASURES[name].sentence}"
        for name in result.measures
    ]
    return tabulate(
        "The arms", rows, [*sentences, *[EXPLANATION] * bool(result.controls)]
    )


def four_lines(result: StudyResult) -> list[str]:
    """Of the first claim's arm: did it work, is it only hotter, what was lost, what next. Empty without claims."""
    if not result.study or not result.claims:
        return []
    study, verdict = result.study, result.claims[0]
    claim, so = verdict.claim, verdict.verdict
    arm = next(arm for arm in study.rows if arm.name == claim.arm)
    seed, *others = arm.seeds
    row_name = study.at(arm.name, seed)
    why = verdict.reason if others else ""
    found = _difference_cell(claim, verdict.interval, why).line
    following = f"read the answers: sozo report {study.output_dir} --output report.html"
    if len(arm.seeds) < FEWEST:
        again = f"sozo study {study.file} --model {study.model}"
        following = f"more seeds: seeds: [1, 2, 3] in that file, then {again}"
    for side in () if others else (claim.arm, claim.against):
        if isinstance(side, str):
            found += f"; {side} {result.cell(claim.measure, study.at(side, seed)).line}"
        so = "of one training each, in brackets over its answers; another seed may say otherwise"
    models = find_evaluated([study.output_dir])

    def said(bases: Mapping[str, str], *, curve: bool) -> str:
        base, _ = without_seed(bases.get(row_name, row_name))
        rows = [
            replace(row, target="")
            for row in findings(models, base).rows
            if row.first
            and row.model == arm.name
            and (row.kind == CURVE) == curve
            and (curve or row.task in study.control_tasks)
        ]
        return ". ".join(
            f"{english(state)}: {'; '.join(map(english, texts))}"
            for state, texts in stated(rows, True)
        )

    hotter = said(study.bases(), curve=True) or "not known"
    hotter += " (to compare, draw more temperatures: sampling)" * ("not " in hotter)
    lost = said(study.bases("before"), curve=False) or "not known"
    return [
        f"Did it work? {claim.formula}: {found}; {so}",
        f"Only hotter? {hotter}",
        f"What was lost, against the model before any training? {lost}",
        f"What next? {following}",
    ]


def claims_table(result: StudyResult) -> Table:
    """What was claimed beforehand, what came out, and when the claim was written."""
    assert result.study is not None
    rows = []
    for verdict in result.claims:
        claim = verdict.claim
        cells: dict[str, Content] = {
            "Claim": claim.name,
            "It needs": claim.needs,
            "Found": _difference_cell(claim, verdict.interval, verdict.reason),
            "p": None if verdict.p is None else p_value(verdict.p),
            "p of the opposite": None
            if verdict.p_opposite is None
            else p_value(verdict.p_opposite),
            "So it": Cell(verdict.verdict),
            "Written": when_noted(Path(result.study.output_dir), claim),
        }
        rows.append(cells)
    found = "Found: the mean over seeds with its 95% interval (Student's t); of two arms, of their difference at each seed."
    chance = f"p: that the claim does not hold, one-sided, corrected by Holm for the {len(rows)} claims."
    judged = f"A claim held where p is at most {ONE_SIDED}, and failed where p of the opposite, corrected likewise, is."
    notes = [found, chance, judged]
    return tabulate("Claims", rows, notes)


def differences_table(result: StudyResult) -> Table:
    """The exploratory differences over seeds."""
    rows: list[dict[str, Content]] = [
        {"Difference": line.formula, "Found": _difference_cell(line, interval)}
        for line, interval in result.differences
    ]
    note = "Exploratory: not corrected for how many there are, so that none of them is shown by its interval alone."
    return tabulate("Other differences", rows, [note] if rows else [])


def _difference_cell(
    line: Difference, interval: Estimate | None, reason: str = ""
) -> Cell:
    below = [reason] if reason else []
    if interval is not None:
        paired = isinstance(line.against, str) and interval.base_n is None
        n = interval.n if interval.base_n is None else min(interval.n, interval.base_n)
        below.insert(0, f"{n} seed{'s' * (n != 1)}{', paired' * paired}")
    measure = measured(line.measure)
    return seeds_cell(
        interval, measure.measure, DIFFERENCE if line.against else measure.kind, below
    )


def rows_table(result: StudyResult) -> Table:
    """Table 11 with different words at equal size, gains and control tasks; below it the paper's rows of the model."""
    model = result.table.paper_model
    rows = [_row_cells(result, row) for row in result.table.rows]
    shown = tabulate("Table 11", rows, [EXPLANATION] * bool(result.controls))
    return replace(
        shown, papers=paper_table("dat_training", (model,)) if model else None
    )


def _row_cells(result: StudyResult, row: Table11Row) -> dict[str, Content]:
    """A row by its columns' headings."""
    table = result.table
    cells: dict[str, Content] = {
        "Row": row.summary.source,
        "Answers": row.summary.num_answers,
    }
    cells |= summary_cells(row.summary)
    cells[f"Different words in {table.equal_size:,} usable"] = row.equal_size_words
    if table.second_encoder:
        own, second = map(_gain_cell, row.gains)
        if row.parts and row.parts.shuffled:
            second = replace(
                second,
                below=(_shuffled_text(MEASURES[SECOND], row.parts.shuffled.value),),
            )
        cells |= {
            "Gain in own sd": own,
            f"Gain by {table.second_encoder} in its sd": second,
        }
        cells["Pairing, centred"] = _gain_cell(row.parts.pairing if row.parts else None)
        cells["Known pairs"] = Cell(row.parts.known_pairs, SHARE) if row.parts else None
    for control, by_row in result.controls.items():
        cells[heading(control)] = by_row.get(row.summary.source)
    return cells


def summary_cells(summary: DatSummary) -> dict[str, Cell]:
    """The columns of a row of Table 11 by their headings.

    >>> summary_cells(DatSummary("random", 4, 3, 0.8, 0.1, (0.7, 0.9), 25, {}))["Score"].line
    '0.8000 [0.7000, 0.9000]'
    """
    score = Measure("dat", summary.digits)
    low, high = summary.ci95 or (None, None)
    return {
        "Usable": Cell.share(summary.usable, summary.num_answers),
        "Score": Cell(Estimate(summary.score, low, high), score),
        "Std": Cell(summary.std, score),
        "Different words": Cell(summary.all_different_words),
    }


def _shuffled_text(measure: RowMeasure, value: float | None) -> str:
    """The line below a number that says what it is of the same words, shuffled among the lists."""
    return f"shuffled {measure.show(value)}"


def _gain_cell(gain: Estimate | None) -> Cell:
    return Cell(gain, DEVIATIONS, DIFFERENCE) if gain else Cell()


def instrument_table(table: Table11) -> Table:
    """What each row's mean is made of, how its words are chosen, and what it has more than `base`; empty without any.

    Perplexity and inverse Simpson are at equal sample size.
    """
    labels = DatView().labels()
    base = base_values(table)
    names = instruments_of([row.summary for row in table.rows])
    if not names:
        return tabulate(_INSTRUMENTS, [])
    rows = []
    for row in table.rows:
        cells: dict[str, Content] = {"Row": row.summary.source}
        own = row_values(row)
        for name in ("score", *names):
            size = f" in {table.equal_size:,} usable" if name in DIVERSITY else ""
            label = labels[name][0] if name in labels else "Mean"
            change = difference_cell(own, base, name) if own != base else None
            cells[label + size] = replace(instrument_cell(own, name), change=change)
        rows.append(cells)
    return tabulate(
        _INSTRUMENTS, rows, [labels[f"{name}_says"][0] for name in (*names, "dat")]
    )


def difference_cell(
    values: Mapping[str, float], base: Mapping[str, float], name: str
) -> Cell | None:
    """What a row has more of an instrument than another one, with its 95% interval; None without one.

    >>> base, row = {"domains": 0.1, "domains_se": 0.03}, {"domains": 0.2, "domains_se": 0.04}
    >>> difference_cell(row, base, "domains").line
    '+0.10 [+0.002, +0.20]'
    """
    if (pair := difference(values, base, name)) is None:
        return None
    low, high = normal_interval(*pair, 1) or (None, None)
    measure = INSTRUMENTS[name]
    return Cell(
        measure.inside(Estimate(pair[0], low, high), DIFFERENCE), measure, DIFFERENCE
    )


def reasons_table(table: Table11) -> Table:
    """How many answers are unusable for which reason; one that never came is pale, to let the others stand out."""
    rows = []
    for row in table.rows:
        cells: dict[str, Content] = {"Row": row.summary.source}
        for reason in map(str, Reason):
            unusable = row.summary.reasons.get(reason, 0)
            of_all = (share(unusable, row.summary.num_answers),) if unusable else ()
            cells[reason] = Cell(unusable, below=of_all)
        rows.append(cells)
    return tabulate(
        "Why answers are unusable",
        rows,
        [f"{reason}: {text}" for reason, text in REASONS.items()],
    )


def to_markdown(result: StudyResult) -> str:
    """Claims and arms, or else rows, patterns and instruments; and what their columns say."""
    if result.study:
        tables = claims_table(result), differences_table(result), arms_table(result)
        shown = [table for table in tables if table.rows or table is tables[-1]]
        return "\n".join(
            text for table in shown for text in (markdown(table), bullets(table.notes))
        )
    rows = rows_table(result)
    parts = [
        markdown(rows),
        *([f"The paper's:\n\n{markdown(rows.papers)}"] if rows.papers else []),
    ]
    if (beside := beside_table(result.table.rows)).rows:
        parts += [markdown(beside), bullets(beside.notes)]
    if seen := patterns(result.table):
        parts.append(bullets(f"{name}: {text}" for name, text in seen.items()))
    if rows.notes:
        parts.append(bullets(rows.notes))
    if (instruments := instrument_table(result.table)).rows:
        parts += [markdown(instruments), bullets(instruments.notes)]
    return "\n".join(parts)


def write_page(path: Path, result: StudyResult, lines: Sequence[str] = ()) -> None:
    """Write the page and its tables, each file whole or not at all. What a result has not is left out."""
    tables = [rows_table(result), beside_table(result.table.rows)]
    if result.study:
        tables = [claims_table(result), differences_table(result), arms_table(result)]
    tables = [
        table
        for table in (
            *tables,
            instrument_table(result.table),
            reasons_table(result.table),
        )
        if table.rows
    ]
    # Charts and answers of an arm are those of its first seed.
    names = [result.names(arm)[arm.seeds[0]] for arm in result.arms] or list(
        result.folders
    )
    scores = {name: usable_scores(result.folders[name]) for name in names}
    growing = {
        row.summary.source: row.curve
        for row in result.table.rows
        if row.summary.source in names
    }
    spots = arm_spots(result)
    across = f"Different words in {result.table.equal_size:,} usable lists"
    page = render(
        Path(__file__).with_name("page.html"),
        title=result.title,
        result=result,
        lines=lines,
        spots=spots,
        arms_chart=scatter_chart(spots, across, "DAT score", "arms") if spots else "",
        tables=tables,
        patterns=patterns(result.table),
        words_chart=different_words_chart(growing, result.table.equal_size),
        score_chart=ridge_chart(scores, "scores", "DAT score")
        if any(map(len, scores.values()))
        else "",
        score_counts={name: len(values) for name, values in scores.items()},
        samples={name: _sample(result.folders[name]) for name in names},
        evaluated=[
            {
                "measure": measure,
                "rows": list(lines),
                "svg": steps_chart(measure, lines, number),
            }
            for number, (measure, lines) in enumerate(result.evaluations.items())
        ],
    )
    write_whole(path, page)  # first: it shows whose folder this is
    write_tables(path.with_name(f"{path.stem}-tables"), tables)


def _sample(folder: Path) -> list[dict[str, Any]]:
    """The first answers of a table."""
    return next(iter_tables(part_paths(folder)[0])).slice(0, _SAMPLES).to_pylist()


def write_result(folder: Path, result: StudyResult, name: str) -> str:
    """Write `name`.md, report.html and, last, metrics.json into `folder`; returns the Markdown."""
    refuse_foreign(folder, "report.html")
    lines = four_lines(result)
    text = "\n".join(filter(None, (bullets(lines), to_markdown(result))))
    write_page(folder / "report.html", result, lines)
    write_whole(folder / f"{name}.md", f"# {result.title}\n\n{text}".encode())
    write_json(folder / "metrics.json", result.to_json())
    return text
