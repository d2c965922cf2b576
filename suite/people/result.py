"""People's lists as results: columns for their spreadsheet, tables, and a paragraph on the method."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sozo
from sozo.data.record import provenance
from sozo.data.sheet import Sheet, read_sheet
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.nouns import SPEAKERS
from sozo.scoring.statistics import mean_interval
from sozo.scoring.statistics.reliability import cronbach_alpha
from sozo.scoring.table import Cell, Content, Table, tabulate
from sozo.scoring.translatable import Translatable
from sozo.suite.people.designs import compared
from sozo.suite.people.lists import TEXTS, correlates, only, read_written
from sozo.suite.people.messages import in_japanese
from sozo.suite.people.prose import Both, design_tables, how_made, prose
from sozo.suite.people.scores import percentiles, score_written
from sozo.tasks.dat.scorer import OLSONS_DAT
from sozo.tasks.dat.words import REFUSE

if TYPE_CHECKING:
    import pandas as pd

    from sozo.tasks.dat.task import Dat

_ALPHA, _ALPHA_NAME = Measure("alpha", 2), "Cronbach's alpha"
_SHOWN = 500  # lists on the page
# What only an answer to a question of consent says.
_CONSENTS = re.compile(
    r"^(?:同意|承諾|許可)(?:し|す|いた|致)|^I (?:do not |don't )?(?:agree|consent)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class PeopleScored:
    """A spreadsheet of what people wrote, scored."""

    sheet: Sheet  # with what was added
    tables: Sequence[Table]  # the last one holds what they wrote
    paragraphs: Sequence[Both]  # for a paper: on the method, and on what came of it
    results: "pd.DataFrame"  # what each list is worth (`score_written`)
    groups: "pd.Series"  # of each list, empty without
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
    norms: Path | None,
    japanese: Callable[[str], str],
    named: Mapping[str, Any] | None = None,
    correlated: Sequence[str] = (),
) -> PeopleScored:
    """The lists of a spreadsheet, scored; percentiles are among the scores of the spreadsheet `norms`.

    `japanese` says a reason, and "none", in Japanese; `named` is `read_written`'s, with the "sheet" of a workbook and
    the "norms_scale" of norms that have no column for it; `correlated` are columns whose numbers scores are held against.
    """
    named = named or {}
    sheet = read_sheet(path, named.get("sheet"), named.get("header_rows", 1))
    sheet = only(sheet, task.settings.language, named)
    own = read_sheet(norms) if norms else None
    lists = read_written(sheet, task.settings.language, named)
    values = correlates(sheet, correlated, lists.attrs["who"])
    scorer = task.scorer  # which takes a while to load
    said = scorer.describe()
    name = task.settings.noun_checker
    paper = name.removesuffix(SPEAKERS)
    other = scorer.with_checker(
        paper if paper != name else name + SPEAKERS, task.settings
    )
    checker = _checker(task, paper)
    encoder = f"{said['embedding_model']} ({said['embedding_revision']})"
    by_olson, language = task.settings.olson, task.settings.language
    on_scale = said.get("score_name") == OLSONS_DAT
    facts = TEXTS["language"][language] | TEXTS["nouns"][language][paper != name]
    facts |= TEXTS["olson"][by_olson] | TEXTS["on_scale"][on_scale]
    scale = f"{encoder}, {checker}, first 7 valid of 10{facts['times']}"
    models = replace(task.settings, repeated_words=REFUSE)
    strict = scorer.with_checker(paper, models)
    results = score_written(lists, scorer, strict)
    beside = score_written(lists, other)[["score", "reason"]]
    results[["other_score", "other_reason"]] = beside
    score = Measure("dat", 2 if by_olson else 4)
    added = _looked_up(results)
    if own:
        scores, most = results["score"].to_numpy(), 2 * scorer.rules.times
        said_scale = named.get("norms_scale", "")
        shares, n = percentiles(scores, own, scale, most, said_scale)
        results["percentile"] = shares if n else "norms without a scale"
        name = "norms" if n else "no_scale"
        added.append(_both(name, n=n, file=own.path.name, scale=scale))
    facts |= {
        "other": other.checker.name,
        "refused": _refused(results, "{}: {}, {}", ", ", str),
        "refused_ja": _refused(results, "{}（{}、{}）", "、", japanese),
        "repeated": results.attrs["repeated"],
        "no_vector": results.attrs["no_vector"],
        "nouns_found": results.attrs["nouns"],
        "checker": checker,
        "encoder": encoder,
    }
    other_rule = _both("other_rule", **facts)
    rules = {
        "First seven valid words of ten": "",
        other_rule[0]: "other_",
        "Strict, as models are scored": "strict_",
    }
    summary = [_summary(rule, results, prefix, score) for rule, prefix in rules.items()]
    notes = [_times(lists, results), _both("by", **facts), _both("nouns", **facts)]
    notes += added
    notes += _notes(sheet, lists, results, language)
    notes += _lacking(values, lists["participant"])
    design = compared(results, lists["group"], score, values)
    alpha = summary[0][_ALPHA_NAME]
    told = prose(design, alpha, japanese)
    for name, sentences in (("made", how_made(design)), ("more", [*added, *told])):
        facts[name] = "".join(f" {english}" for english, _ in sentences)
        facts[f"{name}_ja"] = "".join(japanese for _, japanese in sentences)
    rows = _rows(results.head(_SHOWN), score)
    of_all = _both("shown", n=len(rows), of=len(results))
    said_in_japanese = TEXTS["page"] | dict([*notes, of_all, other_rule])
    said_in_japanese |= dict(how_made(design))
    for prefix in rules.values():
        reasons = results[f"{prefix}reason"]
        said_in_japanese[_reasons(reasons)] = _reasons(reasons, japanese, "：", "、")
        said_in_japanese |= {reason: japanese(reason) for reason in set(reasons) - {""}}
    facts |= {"sozo": sozo.__version__} | _counted(results, summary, japanese)
    columns = results.iloc[:, 2 - lists.index.has_duplicates :].assign(scale=scale)
    return PeopleScored(
        replace(sheet, cells=_joined(sheet.cells, columns)),
        (
            tabulate("Scores", summary, [english for english, _ in notes]),
            *design_tables(design),
            tabulate("Every list", rows, [of_all[0]]),
        ),
        [
            (english.format(**facts), in_japanese.format(**facts))
            for english, in_japanese in TEXTS["paragraphs"]
        ],
        results,
        lists["group"],
        values,
        said_in_japanese,
    )


def _checker(task: "Dat", dictionary: str) -> str:
    """The noun checker with the version of its dictionary, and with the rules that are not as they are by default."""
    name = task.settings.noun_checker
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


def _looked_up(results: "pd.DataFrame") -> list[tuple[str, str]]:
    """How many words were looked up by another form, where the encoder does so."""
    if "respelled" not in results:
        return []
    n = int(results["respelled"].sum())
    return [_both("respelled", n=n, ambiguous=results.attrs["ambiguous"])]


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


def _both(name: str, **facts: Any) -> tuple[str, str]:
    """A note in English and in Japanese."""
    english, japanese = TEXTS["notes"][name]
    return english.format(**facts), japanese.format(**facts)


def _counted(
    results: "pd.DataFrame",
    summary: Sequence[Mapping[str, Any]],
    japanese: Callable[[str], str],
) -> dict[str, Any]:
    """What the paragraph says of the results."""
    mean, why = summary[0]["Mean of participants"], results["reason"]
    participants = results["participant"].nunique()
    return {
        "mean": mean,
        "mean_ja": japanese(mean.text),
        "sd": summary[0]["Sd"],
        "lists": len(results),
        "of_lists": _count(len(results), "list"),
        "participants": participants,
        "of_participants": _count(participants, "participant"),
        "scored": int(results["score"].count()),
        "unscored": int(results["score"].isna().sum()),
        "reasons": f" ({_reasons(why)})" if why.any() else "",
        "reasons_ja": f"（理由：{_reasons(why, japanese, '：', '、')}）"
        if why.any()
        else "",
    }


def _times(lists: "pd.DataFrame", results: "pd.DataFrame") -> tuple[str, str]:
    """How many people wrote lists, at how many times, and how many of them at every time, with a score or without."""
    of_each = lists["participant"].value_counts()
    people, times = len(of_each), lists["trial"].nunique()
    scored = results.groupby("participant")["score"].count()
    return _both(
        "times" if of_each.max() > 1 else "one_time",
        count=_count(people, "participant"),
        n=people,
        times=times,
        whole=int((of_each == times).sum()),
        scored=int((scored == times).sum()),
        all="both" if times == 2 else f"all {times}",
    )


def _notes(
    sheet: Sheet, lists: "pd.DataFrame", results: "pd.DataFrame", language: str
) -> list[tuple[str, str]]:
    """What of the sheet was read as lists, and what looks as if it was read wrongly."""
    unwritten, spellings = lists.attrs["unwritten"], lists.attrs["spellings"]
    joined, answers = lists.attrs["joined"], sheet.answers()
    left_out = answers.cells.index.difference(lists.index).difference(unwritten)
    notes = [_both("columns", columns=lists.attrs["columns"])]
    if unread := lists.attrs["unread"]:
        notes.append(_both("unread", columns=unread))
    if n := sheet.trimmed:
        notes.append(_both("trimmed", n=n))
    named_so = answers.columns(*TEXTS["headings"]["consent"])
    said_so = [
        column
        for _, column in answers.cells.items()
        if column.str.contains(_CONSENTS).any()
    ]
    for column in {str(one.name): one for one in (*named_so, *said_so)}.values():
        if counts := column[column != ""].value_counts().to_dict():
            values = _first([f"{value}: {n:,}" for value, n in counts.items()])
            notes.append(_both("consent", column=column.name, values=values))
    named = {
        "joined": joined,
        "left_out": left_out.difference(joined),
        "unwritten": unwritten,
    }
    for why in dict.fromkeys(sheet.aside.values()):
        named[why] = [row for row, of in sheet.aside.items() if of == why]
    for name, own in named.items():
        if n := len(own):
            rows_ja = _first(
                [re.sub(r"^(\d+) of (.+)$", r"\2の\1", str(row)) for row in own]
            )
            facts = {"rows": _first(own), "rows_ja": rows_ja, "n": n}
            facts |= {"why": name, "why_ja": in_japanese(name)}
            kind = name if name in TEXTS["notes"] else "aside"
            notes.append(_both(kind, count=_count(n, "row"), **facts))
    most, times = lists["participant"].value_counts().max(), lists["trial"].nunique()
    if most < times:
        column = lists.attrs["trial"]
        notes.append(_both("many_times", most=most, times=times, column=column))
    if column := lists.attrs["conditions"]:
        notes.append(_both("conditions", column=column))
    if made := lists.attrs["made"]:
        english = _first([f"{name}, row {row}: {cell}" for name, row, cell in made])
        japanese = _first([f"{name}の{row}行目：{cell}" for name, row, cell in made])
        notes.append(_both("made", cells=english, cells_ja=japanese))
    if spellings:
        notes.append(_both("one_person", spellings=_first(spellings)))
    if names := lists.attrs["alike"]:
        english = _first([f"{name} (row {row})" for name, row in names])
        japanese = _first([f"{name}（{row}行目）" for name, row in names])
        notes.append(_both("alike", names=english, names_ja=japanese))
    if one := int((lists["words"].str.len() == 1).sum()):
        notes.append(_both("one_word", count=_count(one, "list"), n=one))
    if (
        language == "ja"
        and not results["score"].any()
        and results["refused"].str.contains("not_japanese").any()
    ):
        notes.append(_both("english_words"))
    return notes


def _lacking(values: "pd.DataFrame", wrote: "pd.Series") -> list[tuple[str, str]]:
    """Who has a number of a correlated column and no list, or a list and no number."""
    notes = []
    for name in values:
        numbers = set(values[name].dropna().index) - {""}
        persons = dict.fromkeys(wrote)
        without = [person for person in persons if person not in numbers]
        alone = sorted(numbers - persons.keys())
        for kind, people in (("no_number", without), ("no_list", alone)):
            if people:
                notes.append(_both(kind, column=name, names=_first(people)))
    return notes


def _refused(
    results: "pd.DataFrame", form: str, comma: str, said: Callable[[str], str]
) -> str:
    """The words that were refused most often, each with why and how often."""
    words = [
        form.format(word, said(reason).replace("_", " "), n)
        for word, reason, n in results.attrs["refused"]
    ]
    return comma.join(words) or said("none")


def _first(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values[:10])) + ", ..." * (len(values) > 10)


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" + "s" * (n != 1)


def _joined(cells: "pd.DataFrame", added: "pd.DataFrame") -> "pd.DataFrame":
    """Both side by side, a row again for each of its lists; new headings begin with sozo_, or sozo2_ if that is there."""
    taken, number = {str(heading).casefold() for heading in cells}, ""
    while taken & {f"sozo{number}_{heading}" for heading in added}:
        number = str(int(number or 1) + 1)
    return cells.join(added.add_prefix(f"sozo{number}_"))


def _reasons(
    reasons: "pd.Series",
    said: Callable[[str], str] = str,
    colon: str = ": ",
    comma: str = ", ",
) -> str:
    counts = reasons[reasons != ""].value_counts().items()
    return comma.join(
        f"{said(str(reason))}{colon}{n:,}" for reason, n in counts
    ) or said("none")


def _summary(
    rule: str, results: "pd.DataFrame", prefix: str, measure: Measure
) -> Mapping[str, Cell]:
    """A rule's row: its scores, and how far those of one person agree."""
    score = f"{prefix}score"
    persons = results.groupby("participant", sort=False)[score].mean()
    mean, of = mean_interval(persons.dropna().to_numpy()), len(persons)
    several = len(results) > of
    lists = (
        results.pivot(index="participant", columns="trial", values=score)
        if several
        else persons.to_frame()
    )
    alpha = cronbach_alpha(lists.dropna().to_numpy())
    return {
        "Rule": Cell(rule),
        "Lists with a score": Cell.share(int(results[score].count()), len(results)),
        "Mean of participants": _cell(mean, measure, of),
        "Sd": Cell(None if mean.n < 2 else float(persons.std()), measure),
        _ALPHA_NAME: _cell(alpha, _ALPHA, of),
        "Without a score": Cell(_reasons(results[f"{prefix}reason"])),
    }


def _cell(result: Estimate, measure: Measure, of: int) -> Cell:
    """A result with its interval, n of N and what is to be said of it; why there is none, where there is none."""
    why = result.reason or ""
    if result.value is None:
        return Cell(why)
    return Cell(result, measure, of=of, below=(why,) * bool(why))
