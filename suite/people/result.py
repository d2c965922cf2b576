"""People's lists as results: columns for their spreadsheet, tables, and a paper's method and results."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sozo
from sozo.data.foreign import nfkc
from sozo.data.record import provenance
from sozo.data.sheet import Sheet, plain, read_sheet
from sozo.scoring.measure import Measure
from sozo.scoring.nouns import SPEAKERS
from sozo.scoring.statistics import mean_interval
from sozo.scoring.table import Cell, Content, Table, tabulate
from sozo.scoring.translatable import Translatable
from sozo.suite.people.designs import (
    Design,
    Sample,
    analysed,
    compared,
    wide_scores,
)
from sozo.suite.people.lists import (
    TEXTS,
    correlates,
    named_column,
    numbers,
    only,
    read_written,
)
from sozo.suite.people.messages import in_japanese
from sozo.suite.people.prose import (
    Both,
    Sentence,
    analysis,
    both,
    checked,
    found,
    left_out,
    participants,
    said,
)
from sozo.suite.people.scores import score_written
from sozo.tasks.dat.scorer import OLSONS_DAT
from sozo.tasks.dat.words import REFUSE

if TYPE_CHECKING:
    import pandas as pd

    from sozo.tasks.dat.task import Dat

_SHOWN, _FIRST = 500, 10  # lists on the page; names in a note
# What only an answer to a question of consent says.
_CONSENTS = re.compile(
    r"^(?:同意|承諾|許可)(?:し|す|いた|致)|^I (?:do not |don't )?(?:agree|consent)",
    re.I,
)
# What the page of `sozo form` says of itself, in columns of its CSV.
_FORM = ("instruction", "notes_shown", "score_shown", "seconds_limit")


@dataclass(frozen=True, slots=True)
class PeopleScored:
    """A spreadsheet of what people wrote, scored."""

    sheet: Sheet  # with what was added
    wide: "pd.DataFrame"  # a row for each participant
    tables: Sequence[Table]  # the last one holds what they wrote
    means: Table  # Table 1 of the paper
    paper: Sequence[Sequence[Both]]  # paragraphs before Table 1, and behind it
    sample: Sample  # who is analysed
    correlates: "pd.DataFrame"  # a row for each participant
    japanese: Mapping[str, str]  # what the tables say, by what they say in English

    def in_japanese(self, text: str) -> str:
        """A text of the tables or of their summary in Japanese; what anybody wrote stays as it is."""
        if isinstance(text, Translatable):
            from sozo.eval.report.labels import wording  # which takes a while to import

            return wording(text)[1]
        return self.japanese.get(text) or in_japanese(text)


def score_sheet(
    task: "Dat",
    path: Path,
    named: Mapping[str, Any] | None = None,
    correlated: Sequence[str] = (),
) -> PeopleScored:
    """The lists of a spreadsheet, scored.

    `named` is `read_written`'s, with the "sheet" of a workbook, the "order" of groups and times, the columns to "drop",
    and whether "all_scores" are given; `correlated` are columns whose numbers scores are held against.
    """
    named = named or {}
    language = task.settings.language
    sheet = read_sheet(path, named.get("sheet"), named.get("header_rows", 1))
    sheet = only(sheet, language, named)
    lists = read_written(sheet, language, named)
    values = correlates(sheet, correlated, lists.attrs["who"])
    dropped = [named_column(sheet, name).name for name in named.get("drop", ())]
    results = score_written(lists, task.scorer)
    rules = {"First seven valid words of ten": ""}
    if named.get("all_scores"):
        _add_strict(task, lists, results)
        rules["Strict, as models are scored"] = "strict_"
    order = re.split("[,、]", nfkc(named.get("order", "")))
    order = [name.strip() for name in order if name.strip()]
    wrote = lists["participant"]
    silent = sorted({*lists.attrs["who"][lists.attrs["unwritten"]]} - {*wrote})
    sample = analysed(results, lists["group"], silent, order)
    score = Measure("dat", 2 if task.settings.olson else 3)
    design = compared(sample, score, values)

    took_part = participants(sample, *_sex_and_age(sheet, lists, sample))
    notes = [*_scorer_notes(task, results), *_notes(sheet, lists)]
    notes += [*_lacking(values, wrote), *_private(sheet, lists, dropped)]
    if names := left_out(sample, names=True):
        notes.append(("left_out", {"names": names}))
    how, asked = analysis(sample, design), _task(sheet, lists)
    if len(asked) == 1:
        notes.append(("unsaid", {}))
    told = [both(*took_part), *map(both, notes)]
    if how:
        told.append(both(*checked(sample)))

    reasons = {rule: _reasons(results[f"{own}reason"]) for rule, own in rules.items()}
    summary = [
        _summary(rule, results[["participant", f"{own}score"]], score, reasons[rule])
        for rule, own in rules.items()
    ]
    rows = _rows(results.head(_SHOWN), score)
    of_all = both(("shown_of", {"n": len(rows), "of": len(results)}))
    tests = [
        tabulate(TEXTS["titles"][kind], lines)
        for kind, lines in design.items()
        if lines and kind != "means"
    ]
    used = [*lists.attrs["used"], *dropped]
    raw = sheet.answers().cells.drop(columns=used, errors="ignore")
    columns = results.iloc[:, 2 - lists.index.has_duplicates :]
    columns = columns.assign(scale=_scale(task))
    return PeopleScored(
        replace(sheet, cells=_joined(sheet.cells.drop(columns=dropped), columns)),
        wide_scores(results, lists, raw, values, order),
        (
            tabulate("Scores", summary, [english for english, _ in told]),
            *tests,
            tabulate("Every list", rows, [of_all[0]]),
        ),
        tabulate("Table 1", design["means"]),
        _paper(task, results, sample, design, took_part, asked, how),
        sample,
        values,
        TEXTS["page"] | dict([*told, of_all, *reasons.values()]),
    )


def _paper(
    task: "Dat",
    results: "pd.DataFrame",
    sample: Sample,
    design: Design,
    took_part: Sequence[Sentence],
    asked: Sequence[Sentence],
    how: Sequence[Sentence],
) -> list[list[Both]]:
    """Method and results before Table 1, and the rest behind it, each with its heading."""
    before: list[Sequence[Sentence]] = [
        [("method", {})],
        *([("participants", {})], took_part),
        *([("task", {})], asked),
        *([("scoring", {})], _scoring(task, results)),
    ]
    if how:
        before += [[("analysis", {})], how]
    before += [[("results", {})], [_caption(sample)]]
    first, second = found(sample, design)
    sources = ["olson"]
    if task.scorer.vectors.encoder.name == "ja-ginza":
        sources.insert(0, "chive")
    if design["retests"]:
        sources.append("shrout")
    behind = [[("note", {})], first, second, [("references", {})]]
    behind += [[(source, {})] for source in sources]
    return [[both(*one) for one in part if one] for part in (before, behind)]


def _scale(task: "Dat") -> str:
    """What makes scores comparable, for a column of the spreadsheet."""
    encoder = task.scorer.vectors.encoder
    times = said(("times_100", {}), 0) if task.settings.olson else ""
    by = f"{encoder.name} ({encoder.revision}), {_checker(task)}"
    return f"{by}, first 7 valid of 10{times}"


def _scorer_notes(task: "Dat", results: "pd.DataFrame") -> list[Sentence]:
    encoder = task.scorer.vectors.encoder
    named = {"encoder": f"{encoder.name} ({encoder.revision})"}
    scored = named | {"checker": _checker(task), **results.attrs}
    return [("by", scored), ("nouns", scored)]


def _private(
    sheet: Sheet, lists: "pd.DataFrame", dropped: Sequence[str]
) -> list[Sentence]:
    """Columns that may say who somebody is and are written again."""
    # Who wrote a list stands in wide.csv even so.
    gone = {*dropped} - {lists.attrs["who"].name}
    private = sheet.columns(*TEXTS["headings"]["private"])
    names = [one.name for one in private if one.name not in gone]
    return [("private", {"columns": names})] if names else []


def _add_strict(task: "Dat", lists: "pd.DataFrame", results: "pd.DataFrame") -> None:
    """Columns of scores by the strict rule, by which models are scored."""
    checker = task.settings.noun_checker.removesuffix(SPEAKERS)
    models = replace(task.settings, repeated_words=REFUSE)
    scorer = task.scorer.with_checker(checker, models)
    strict = scorer.score(list(lists["text"]))
    results["strict_score"] = strict.scores.astype(float)
    results["strict_reason"] = [str(one.reason or "") for one in strict]


def _sex_and_age(
    sheet: Sheet, lists: "pd.DataFrame", sample: Sample
) -> tuple[dict[str, int], "pd.Series"]:
    """How many of those analysed are of each sex, and their ages, where columns say so in words and in numbers."""

    def own(kind: str) -> "pd.Series":
        for column in sheet.answers().columns(*TEXTS["headings"][kind])[:1]:
            each = column.where(column != "").groupby(lists.attrs["who"]).first()
            return each.reindex(sample.scores.index).fillna("")
        return sample.groups[:0]

    sexes, (ages, wrong) = own("sex"), numbers(own("age"))
    coded = sexes.str.fullmatch(r"[\d.]*").all()  # which only its author can read
    counts = {} if coded else sexes.value_counts().to_dict()
    return counts, ages[:0] if wrong.any() else ages


def _task(sheet: Sheet, lists: "pd.DataFrame") -> list[Sentence]:
    """What was asked, and what the page of `sozo form` showed, if one page gave all the lists."""
    page: dict[str, str] = {}
    for name in _FORM:
        for column in sheet.columns(f"^{plain(name)}$")[:1]:
            values = column[lists.index].unique()
            page |= {name: values[0]} if len(values) == 1 else {}
    if len(page) < len(_FORM):
        return [("dat", {})]
    return [
        ("dat", {}),
        ("instruction", page),
        ("limit" if page["seconds_limit"] else "no_limit", page),
        (f"notes_{page['notes_shown']}", {}),
        (f"score_{page['score_shown']}", {}),
    ]


def _scoring(task: "Dat", results: "pd.DataFrame") -> list[Sentence]:
    """How lists were scored: what a word, a noun, a vector and the score are."""
    settings, scorer, paper = task.settings, task.scorer, TEXTS["paper"]
    encoder, rules = scorer.vectors.encoder, task.deciding()
    vectors = f"vectors_{encoder.name}"
    people = "people" if settings.noun_checker.endswith(SPEAKERS) else "models"
    respelled = int(results["respelled"].sum()) if "respelled" in results else 0
    on_scale = scorer.describe().get("score_name") == OLSONS_DAT
    names = ["scored", f"repeated_{settings.repeated_words}"]
    names += [f"nouns_{settings.language}_{people}"]
    names += [name for name, value in rules.items() if value is True and name in paper]
    names += ["distance", vectors if vectors in paper else "vectors"]
    names += ["respelled"] * bool(respelled) + ["on_scale" if on_scale else "norms"]
    facts = {
        "sozo": sozo.__version__,
        "script": (f"script_{settings.language}", {}),
        "times": ("times_100", {}) if settings.olson else "",
        "most": 2 * scorer.rules.times,
        "encoder": encoder.name,
        "version": encoder.revision.partition("-")[0],
        "size": scorer.vectors.matrix.shape[1],
        "respelled": respelled,
    }
    return [(name, facts) for name in names]


def _caption(sample: Sample) -> Sentence:
    kinds = len(sample.parts) > 1, sample.scores.shape[1] > 1
    by = {(True, True): "by_both", (True, False): "by_group", (False, True): "by_time"}
    return "caption", {"by": (by[kinds], {}) if any(kinds) else ""}


def _checker(task: "Dat") -> str:
    """The noun checker with the version of its dictionary, and with the rules that are not as they are by default."""
    name = task.settings.noun_checker
    dictionary = name.removesuffix(SPEAKERS)
    version = f"{dictionary} {provenance()['packages'].get(dictionary, '')}".strip()
    checker = f"{name} ({version})" if dictionary != name else version
    rules = task.deciding()
    changed = [
        rule
        for rule, value in rules.items()
        if value is True and rule not in ("reasoning", "olson")
    ]
    if (repeated := rules["repeated_words"]) != REFUSE:
        changed.append(f"repeated_words: {repeated}")
    return checker + (f" ({', '.join(changed)})" if changed else "")


def _rows(results: "pd.DataFrame", score: Measure) -> list[dict[str, Content]]:
    """Lists as rows of a table; without their trial if they have none."""
    shown = results.drop(columns=[] if results["trial"].any() else "trial")
    shown = shown.rename(columns=lambda name: name.replace("_", " ").capitalize())
    return [
        {
            name: Cell(None if value != value else value, score)
            for name, value in row.items()
        }
        for row in shown.to_dict("records")
    ]


def _notes(sheet: Sheet, lists: "pd.DataFrame") -> list[Sentence]:
    """What of the sheet was read as lists, and what looks as if it was read wrongly."""
    unwritten, joined = lists.attrs["unwritten"], lists.attrs["joined"]
    answers = sheet.answers()
    left_out = answers.cells.index.difference(lists.index).difference(unwritten)
    notes: list[Sentence] = [
        (name, {"columns": lists.attrs[name]})
        for name in ("columns", "unread", "conditions")
        if lists.attrs[name]
    ]
    notes += [("trimmed", {"n": sheet.trimmed})] * bool(sheet.trimmed)
    named_so = answers.columns(*TEXTS["headings"]["consent"])
    said_so = [
        column
        for _, column in answers.cells.items()
        if column.str.contains(_CONSENTS).any()
    ]
    for column in {str(one.name): one for one in (*named_so, *said_so)}.values():
        counts = column[column != ""].value_counts().items()
        values = [("of_each", {"name": value, "n": n}) for value, n in counts]
        notes.append(("consent", {"column": column.name, "values": values}))
    rows = {"joined": joined, "no_list": left_out.difference(joined)}
    rows["unwritten"] = unwritten
    for why in dict.fromkeys(sheet.aside.values()):
        rows[why] = [row for row, of in sheet.aside.items() if of == why]
    for name, own in rows.items():
        facts = {"why": name, "rows": _first(own), "n": len(own)}
        kind = name if name in TEXTS["paper"] else "aside"
        notes += [(kind, facts)] * (len(own) > 0)
    if spellings := lists.attrs["spellings"]:
        notes.append(("one_person", {"spellings": _first(spellings)}))
    return notes


def _lacking(values: "pd.DataFrame", wrote: "pd.Series") -> list[Sentence]:
    """Who has a number of a correlated column and no list, or a list and no number."""
    notes = []
    for name in values:
        known, persons = {*values[name].dropna().index} - {""}, dict.fromkeys(wrote)
        without = [person for person in persons if person not in known]
        alone = sorted(known - persons.keys())
        for kind, people in (("no_number", without), ("no_answer", alone)):
            if people:
                notes.append((kind, {"column": name, "names": _first(people)}))
    return notes


def _first(names: Sequence[Any]) -> list[str]:
    return [*map(str, names[:_FIRST]), *["..."] * (len(names) > _FIRST)]


def _joined(cells: "pd.DataFrame", added: "pd.DataFrame") -> "pd.DataFrame":
    """Both side by side, a row again for each of its lists; new headings begin with sozo_, or sozo2_ if that is there."""
    taken, number = {str(heading).casefold() for heading in cells}, ""
    while taken & {f"sozo{number}_{heading}" for heading in added}:
        number = str(int(number or 1) + 1)
    return cells.join(added.add_prefix(f"sozo{number}_"))


def _reasons(reasons: "pd.Series") -> Both:
    counts = reasons[reasons != ""].value_counts().items()
    return both(
        (
            "reasons",
            {"counts": [("of_each", {"name": why, "n": n}) for why, n in counts]},
        )
    )


def _summary(
    rule: str, scores: "pd.DataFrame", measure: Measure, reasons: Both
) -> Mapping[str, Cell]:
    """A rule's row."""
    persons = scores.groupby("participant", sort=False).mean().iloc[:, 0]
    mean = mean_interval(persons.dropna().to_numpy())
    shown = mean.reason if mean.value is None else mean
    return {
        "Rule": Cell(rule),
        "Lists with a score": Cell.share(int(scores.count().iloc[1]), len(scores)),
        "Mean of participants": Cell(shown, measure, of=len(persons)),
        "Without a score": Cell(reasons[0]),
    }
