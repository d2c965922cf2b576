"""The result of a study of arms for readers: the plane, the claims, the table, as Markdown and as a page."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from sozo.data.markdown import bullets, plain, table
from sozo.data.record import write_whole
from sozo.eval.report.exports import write_tables
from sozo.eval.report.plane import Spot, plane_chart
from sozo.eval.report.render import render
from sozo.scoring.statistics.seeds import SeedInterval
from sozo.scoring.table import Cell, Row, Table
from study import guards
from study.arm import Arm
from study.arms import PAPER
from study.claims import Verdict
from study.curves import EvaluationChart
from study.measures import MEAN, MEASURES, UNIQUE
from study.result import Result
from study.said import when_said

_GREY, _PAPER, _OURS = 0, 2, 1  # colours of the page
GROUPS = {_GREY: "not trained", _PAPER: "trained as in the paper", _OURS: "trained otherwise"}


def plane(result: Result) -> str:
    """Mean against unique words, every arm with its seeds, as SVG; empty where no arm has both."""
    spots = []
    for arm in result.study.rows:
        x, y = result.interval(UNIQUE, arm), result.interval(MEAN, arm)
        if x and y:
            pairs = [(result.values[UNIQUE][arm.name][seed], result.values[MEAN][arm.name][seed]) for seed in arm.seeds]
            seeds = [(a, b) for a, b in pairs if a is not None and b is not None]
            spots.append(Spot(arm.name, (x.mean, y.mean), seeds, _colour(arm)))
    across = f"Unique words in {result.equal_size:,} valid responses"
    return plane_chart(spots, result.frontier, across, "Mean DAT score", "plane") if spots else ""


def _colour(arm: Arm) -> int:
    return _GREY if not arm.train else _PAPER if arm.name in PAPER else _OURS


def heading(name: str, result: Result) -> str:
    """Of a column."""
    return MEASURES[name].heading + (f" in {result.equal_size:,} valid" if name == UNIQUE else "")


def cells(result: Result, arm: Arm) -> list[tuple[str, str]]:
    """Of an arm for each measure the mean, and half the width of its interval over seeds (empty for one seed)."""
    shown = []
    for name in result.measures:
        interval, measure = result.interval(name, arm), MEASURES[name]
        high = interval.high if interval else None
        half = f"± {measure.form.format(high - interval.mean)}" if interval and high is not None else ""
        shown.append((measure.show(interval.mean if interval else None), half))
    return shown


def arms_table(result: Result) -> Table:
    """The arms, by measure."""
    rows = []
    for arm in result.study.rows:
        shown = [Cell(len(arm.seeds))]
        for name, (value, half) in zip(result.measures, cells(result, arm), strict=True):
            below = (half,) if half else ()
            shown.append(_written(value, result.interval(name, arm), below))
        shown += [Cell(text) for text in _said(result, arm)]
        rows.append(Row(arm.name, tuple(shown)))
    headings = [*(heading(name, result) for name in result.measures), *map(guards.heading, result.guarded)]
    return Table("The arms", ("Arm", "Seeds", *headings), tuple(rows))


def _said(result: Result, arm: Arm) -> list[str]:
    """What each guard says of an arm: of one seed the verdict with its figures, else how often which."""
    texts = []
    for of_row in result.guarded.values():
        names = (result.study.at(arm.name, seed) for seed in arm.seeds)
        verdicts = [of_row[name] for name in names if name in of_row]
        counted = Counter(verdict.verdict for verdict in verdicts)
        alone = verdicts[0].text() if len(verdicts) == 1 else ""
        texts.append(alone or ", ".join(f"{verdict} at {n}" for verdict, n in counted.items()) or "–")
    return texts


def claims_table(result: Result) -> Table:
    """What was said beforehand, and what came out."""
    rows = []
    for v in result.verdicts:
        texts = (Cell(v.claim.asked), _written(found(v), v.interval), Cell(v.verdict), Cell(said(result, v)))
        rows.append(Row(v.claim.name, texts))
    return Table("Claims", ("Claim", "It needs", "Found", "So it", "Said"), tuple(rows))


def _written(text: str, interval: SeedInterval | None, below: tuple[str, ...] = ()) -> Cell:
    """A text with the numbers behind it."""
    if interval is None:
        return Cell(text, below=below)
    numbers = {"low": interval.low, "high": interval.high, "n": interval.seeds}
    more = {name: number for name, number in numbers.items() if number is not None}
    return Cell(interval.mean, printed=text, below=below, more=more)


def found(verdict: Verdict) -> str:
    """What came out, with the interval."""
    if (interval := verdict.interval) is None:
        return verdict.reason
    show, signed = MEASURES[verdict.claim.measure].show, bool(verdict.claim.against)
    ends = f" [{show(interval.low, signed)}, {show(interval.high, signed)}]" if interval.low is not None else ""
    seeds = f"{interval.seeds} seed{'s' * (interval.seeds != 1)}{', paired' * interval.paired}"
    return f"{show(interval.mean, signed)}{ends}, {seeds}{': ' * bool(verdict.reason)}{verdict.reason}"


def said(result: Result, verdict: Verdict) -> str:
    """When the claim was written."""
    return when_said(Path(result.study.output_dir), verdict.claim)


def to_markdown(result: Result) -> str:
    """The claims, the table, and what its columns say."""
    claims = [
        f"{v.verdict.upper()}: {plain(v.claim.name)} ({plain(v.claim.asked)}). {found(v)}. Said {said(result, v)}."
        for v in result.verdicts
    ]
    rows = [
        [
            plain(arm.name),
            str(len(arm.seeds)),
            *(" ".join(filter(None, cell)) for cell in cells(result, arm)),
            *_said(result, arm),
        ]
        for arm in result.study.rows
    ]
    columns = {name: heading(name, result) for name in result.measures}
    sentences = [f"{shown}: {MEASURES[name].sentence}" for name, shown in columns.items()]
    sentences += map(guards.explanation, result.guarded)
    headings = ["Arm", "Seeds", *columns.values(), *map(guards.heading, result.guarded)]
    parts = [bullets(claims), table(headings, rows), bullets(sentences)]
    return "\n".join(filter(None, parts))


def write_page(path: Path, result: Result, title: str, chart: str, evaluated: Sequence[EvaluationChart] = ()) -> None:
    """Write the page, whole or not at all; `chart` is the `plane`, `evaluated` what trainings measured as they went."""
    arms, claims = arms_table(result), claims_table(result)
    write_tables(path.with_name(f"{path.stem}-tables"), [claims, arms])
    page = render(
        Path(__file__).with_name("arms.html"),
        arms=arms,
        claims=claims,
        hints={heading(name, result): MEASURES[name].sentence for name in result.measures},
        guards=[guards.explanation(task) for task in result.guarded],
        title=title,
        result=result,
        plane=chart,
        evaluated=evaluated,
        groups=GROUPS,
    )
    write_whole(path, page)
