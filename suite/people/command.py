"""What people wrote, scored: their spreadsheet with our columns, a page, a paragraph for a paper."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sozo.data.cache import NO_CACHE, vector_folder
from sozo.data.errors import UserError, require
from sozo.data.foreign import printable
from sozo.data.markdown import plain
from sozo.data.record import write_whole
from sozo.data.run_folder import RunFolder
from sozo.data.settings import Checked, setting
from sozo.data.sheet import read_sheet, sheet_files, write_sheet
from sozo.eval.report.render import render
from sozo.eval.terminal import print_lines
from sozo.scoring.measure import Measure
from sozo.scoring.table import markdown
from sozo.suite.people.designs import wide_scores
from sozo.suite.people.messages import LANG, told_in
from sozo.suite.people.result import PeopleScored, score_sheet
from sozo.tasks import Dat
from sozo.tasks.dat.scorer import DatSettings

if TYPE_CHECKING:
    from sozo.suite.people.beside import Plane

# What the user says of a sheet, by the options' names.
_NAMED = (
    "sheet",
    "header_rows",
    "participant",
    "trial",
    "group",
    "norms_scale",
    "beside",
)


@dataclass(frozen=True)
class PeopleOptions(Checked):
    """What goes with a spreadsheet of what people wrote."""

    sheet: str | None = setting(None, "Sheet of an Excel file, if several have cells.")
    header_rows: int | None = setting(
        None,
        "How many rows at the top are headings, such as names and questions.",
        least=1,
    )
    participant: str | None = setting(None, "Column that says who wrote a list.")
    trial: str | None = setting(
        None, "Column that tells a person's lists apart, such as before and after."
    )
    send_words: bool = setting(
        False, "People's words may go to the server of openai:NAME."
    )
    group: str | None = setting(
        None, "Column of the groups or conditions that are compared."
    )
    norms: str | None = setting(
        None, "CSV of your own sample's scores, for percentiles."
    )
    norms_scale: str | None = setting(
        None, "Scale of these scores, as sozo_scale says it, if no column does."
    )
    beside: str | None = setting(
        None, "Folder of models' runs of DAT, which are scored by the same rule."
    )
    lang: str | None = setting(None, LANG)


def people(
    file: Annotated[
        Path,
        typer.Argument(
            help="A table of what people wrote (CSV, TSV, Excel), a row or some rows a person; or a folder of CSV files."
        ),
    ],
    output: Annotated[
        Path, typer.Option(help="Folder; the same command again shows what it holds.")
    ],
    settings: DatSettings,
    options: PeopleOptions,
    correlate: Annotated[
        list[str] | None,
        typer.Option(help="Columns of numbers that scores are correlated with."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="COLUMN=VALUE: these rows alone, such as of who gave consent."
        ),
    ] = None,
) -> None:
    """What people wrote: a spreadsheet of lists is scored.

    With a page, and a paragraph for the methods section.
    """
    with told_in(options.lang, _text(file, options.sheet)) as said:
        score_people(
            Dat(settings), file, output, options, said, correlate or (), only or ()
        )
        summary = output / ("people.md" if said is str else "people_ja.md")
        names = (
            "config.json",
            "metrics.json",
            "people.html",
            "scores.csv",
            "wide.csv",
            "figure.svg",
            "figure.png",
        )
        files = (*(output / name for name in names), summary)
        print_lines([summary.read_text("utf-8"), *map(str, files)])


def _text(file: Path, sheet: str | None) -> str:
    """What a spreadsheet holds; its name where it cannot be read."""
    with suppress(UserError):
        return read_sheet(file, sheet).cells.to_csv()
    return file.name


def words_go(settings: DatSettings) -> tuple[str | None, Path | None]:
    """The server that gets every word, and the folder that keeps it, if the settings name such."""
    name, cache = settings.embedding_model, settings.embedding_cache
    # e5 keeps its vectors unless somebody says not to.
    e5 = re.search(r"(?<![^+:])e5(?![^+\[])", name)
    folder = Path(cache) if cache else vector_folder() if e5 else NO_CACHE
    return (
        name if "openai:" in name else None,
        None if folder == NO_CACHE else folder,
    )


def score_people(
    task: Dat,
    file: Path,
    output: Path,
    options: PeopleOptions,
    said: Callable[[str], str] = str,
    correlate: Sequence[str] = (),
    only: Sequence[str] = (),
) -> None:
    """Score a spreadsheet into a folder that no command of sozo reads as a run: scores.csv, people.html, people.md.

    people_ja.md is people.md in Japanese. What is printed meanwhile is `said`.
    """
    require("jinja2", "the page of people's answers")
    task = task.for_people()
    server, folder = words_go(task.settings)
    if server and not options.send_words:
        local = "take an encoder on this machine such as ja-ginza, or add --send-words if people agreed to it"
        raise UserError(
            f"{file}: {server} is a server, and would get every word that people wrote; {local}"
        )
    norms = Path(options.norms) if options.norms else None
    given = {"file_sha256": file, "norms_sha256": norms}
    digests = {
        name: sha256(
            b"".join(file.read_bytes() for file in sheet_files(path)[0])
        ).hexdigest()
        for name, path in given.items()
        if path and path.exists()
    }
    asked = {name: getattr(options, name) for name in _NAMED} | {"only": list(only)}
    named = {name: value for name, value in asked.items() if value}
    page = RunFolder(
        output,
        {
            "task": f"{task.name} of people",
            **named,
            **({"correlate": list(correlate)} if correlate else {}),
            **digests,
            **task.deciding(),
        },
    )
    if page.metrics() is not None and (output / "people.md").is_file():
        print_lines([said(f"{output}: finished before; nothing was computed again")])
        return
    if folder:
        kept = f"{folder} will hold every word that people wrote; --embedding-cache none keeps none"
        print_lines([said(kept)])
    from sozo.eval.report.labels import wording  # which takes a while to import

    def japanese(text: str) -> str:
        return wording(text)[1]

    scored = score_sheet(task, file, norms, japanese, named, correlate)
    plane = None
    if options.beside:
        from sozo.suite.people.beside import beside  # which takes a while to import

        measure = Measure("dat", 2 if task.settings.olson else 4)
        plane = beside(task, scored.results, options.beside, measure)
        scored = replace(scored, japanese={**scored.japanese, **plane.japanese})
    page.start({"scorer": task.describe()}, {"file": str(file)})
    write_sheet(output / "scores.csv", scored.sheet.cells, scored.sheet.delimiter)
    from sozo.suite.people.figure import design_figure

    wide = wide_scores(scored.results, scored.groups, scored.correlates)
    write_sheet(output / "wide.csv", wide, scored.sheet.delimiter, digits=6)
    score = scored.in_japanese("Score") if said is not str else "Score"
    figure = scored.results, scored.groups, scored.correlates, score
    drawing, whole = design_figure(*figure, output)
    if not whole:
        boxes = "has boxes for Japanese letters, for which no font was found; figure.svg has the letters"
        print_lines([said(f"{output / 'figure.png'}: {boxes}")])
    title = f"{task.title}: {file.name}"
    write_whole(output / "people.html", _page(title, scored, plane, drawing))
    for name, tongue in (("people.md", str), ("people_ja.md", scored.in_japanese)):
        text = _summary(title, scored, plane, tongue)
        write_whole(output / name, text.encode())
    page.finish({})


def _summary(
    title: str,
    scored: PeopleScored,
    plane: "Plane | None",
    said: Callable[[str], str],
) -> str:
    """What is counted, the tables with their notes, and the paragraph, in the language of `said`."""
    n = scored.sheet.cells.index.nunique()
    read = f"{n:,} row{'s' * (n != 1)} read as {scored.sheet.encoding}."
    shown = [*scored.tables[:-1], *([plane.table] if plane else [])]
    times, *notes = [said(note) for table in shown for note in table.notes]
    told = [printable(both[said is not str]) for both in scored.paragraphs]
    paragraphs = "\n\n".join(told)
    parts = [
        times,
        f"# {title}",
        said(read),
        *(markdown(table, said) for table in shown),
        *map(plain, notes),
        f"## {said('Methods and results, to paste')}",
        # In a fence nothing is escaped, so that it is pasted as it is; no line of it begins as a fence ends.
        f"~~~text\n{paragraphs}\n~~~",
    ]
    return "\n\n".join(parts)


def _page(
    title: str, scored: PeopleScored, plane: "Plane | None", drawing: str
) -> bytes:
    """The page in English and in Japanese; what people wrote, and are called, stays as it is."""

    def in_both(text: str) -> str:
        japanese = scored.in_japanese(text)
        if japanese == text:
            return escape(text)
        return f'<span lang="en">{escape(text)}</span><span lang="ja">{escape(japanese)}</span>'

    return render(
        Path(__file__).with_name("people.html"),
        styles=("style.css", "evaluation.css"),
        scripts=("tables.js", "language.js"),
        both=in_both,
        breakable=in_both,
        title=title,
        tables=scored.tables,
        plane=plane,
        drawing=drawing,
        paragraphs=scored.paragraphs,
    )
