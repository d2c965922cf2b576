"""What people wrote, scored: their spreadsheet with our columns, a page, a paper's method and results."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Annotated

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
from sozo.scoring.table import markdown
from sozo.suite.people.lists import TEXTS
from sozo.suite.people.messages import LANG, told_in
from sozo.suite.people.prose import both
from sozo.suite.people.result import PeopleScored, score_sheet
from sozo.tasks import Dat
from sozo.tasks.dat.scorer import DatSettings

# What the user says of a sheet, by the options' names.
_NAMED = (
    "sheet",
    "header_rows",
    "participant",
    "trial",
    "group",
    "order",
    "all_scores",
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
    order: str | None = setting(
        None,
        "Groups and times in the order in which later ones are compared with earlier ones: 統制群,実験群.",
    )
    all_scores: bool = setting(False, "Also scores by the models' strict rule.")
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
    drop: Annotated[
        list[str] | None,
        typer.Option(help="Columns that no file carries on, such as IPAddress."),
    ] = None,
) -> None:
    """What people wrote: a spreadsheet of lists is scored.

    With a page, and the method and results of a paper.
    """
    with told_in(options.lang, _text(file, options.sheet)) as said:
        columns = correlate or (), only or (), drop or ()
        score_people(Dat(settings), file, output, options, said, *columns)
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
    drop: Sequence[str] = (),
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
    content = [one.read_bytes() for one in sheet_files(file)[0] if one.is_file()]
    asked = {name: getattr(options, name) for name in _NAMED}
    asked |= {"only": list(only), "drop": list(drop)}
    named = {name: value for name, value in asked.items() if value}
    page = RunFolder(
        output,
        {
            "task": f"{task.name} of people",
            **named,
            **({"correlate": list(correlate)} if correlate else {}),
            "file_sha256": sha256(b"".join(content)).hexdigest(),
            **task.deciding(),
        },
    )
    if page.metrics() is not None and (output / "people.md").is_file():
        print_lines([said(f"{output}: finished before; nothing was computed again")])
        return
    if folder:
        kept = f"{folder} will hold every word that people wrote; --embedding-cache none keeps none"
        print_lines([said(kept)])
    scored = score_sheet(task, file, named, correlate)
    names = ["sent_words" if server else "sent_nothing", *TEXTS["ethics"]]
    names.append("kept_words" if folder else "kept_nothing")
    places = {"server": server, "output": output.name, "folder": folder}
    ethics = [both((name, places)) for name in names]
    scored = replace(scored, paper=[*scored.paper, ethics])
    page.start({"scorer": task.describe()}, {"file": str(file)})
    write_sheet(output / "scores.csv", scored.sheet.cells, scored.sheet.delimiter)
    write_sheet(output / "wide.csv", scored.wide, scored.sheet.delimiter, digits=6)
    from sozo.suite.people.figure import design_figure

    score = scored.in_japanese("Score") if said is not str else "Score"
    figure = scored.sample, scored.correlates, score, output
    drawing, whole = design_figure(*figure)
    if not whole:
        boxes = "has boxes for Japanese letters, for which no font was found; figure.svg has the letters"
        print_lines([said(f"{output / 'figure.png'}: {boxes}")])
    title = f"{task.title}: {file.name}"
    write_whole(output / "people.html", _page(title, scored, drawing))
    for name, tongue in (("people.md", str), ("people_ja.md", scored.in_japanese)):
        text = _summary(title, scored, tongue)
        write_whole(output / name, text.encode())
    page.finish({})


def _summary(
    title: str,
    scored: PeopleScored,
    said: Callable[[str], str],
) -> str:
    """What is counted, the tables with their notes, and the paper's text, in the language of `said`."""
    n = scored.sheet.cells.index.nunique()
    read = f"{n:,} row{'s' * (n != 1)} read as {scored.sheet.encoding}."
    shown = scored.tables[:-1]
    people, *notes = [said(note) for table in shown for note in table.notes]
    before, after, ethics = (
        "\n\n".join(printable(both[said is not str]) for both in part)
        for part in scored.paper
    )
    parts = [
        people,
        f"# {title}",
        said(read),
        *(markdown(table, said) for table in shown),
        *map(plain, notes),
        f"## {said('Methods and results, to paste')}",
        # In a fence nothing is escaped, so that it is pasted as it is; no line of it begins as a fence ends.
        f"~~~text\n{before}\n~~~",
        markdown(scored.means, said),
        f"~~~text\n{after}\n~~~",
        f"## {said('For an ethics committee')}",
        f"~~~text\n{ethics}\n~~~",
    ]
    return "\n\n".join(parts)


def _page(title: str, scored: PeopleScored, drawing: str) -> bytes:
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
        drawing=drawing,
        means=scored.means,
        paper=scored.paper,
    )
