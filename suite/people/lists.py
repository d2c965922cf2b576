"""Lists that people wrote, out of a spreadsheet: each with its score by people's rule, and by the strict one.

People's rule is Olson's (2021) first seven valid words of ten, however the ten are separated: numbered or not, in
lines, by commas, 、 or spaces, half-width katakana too. What a valid word is, is the same by both rules.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from sozo.data.errors import UserError
from sozo.data.foreign import brief, nfkc, parse_json
from sozo.data.sheet import Sheet, plain
from sozo.scoring.parse import NUM_WORDS, write_list
from sozo.tasks.dat.found import AROUND, NUMBERING, listed
from sozo.tasks.dat.words import COUNTED

if TYPE_CHECKING:
    import pandas as pd

# By libyaml, where it is there, in a tenth of the time: every list of commands imports this.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
TEXTS = yaml.load(
    files(__package__).joinpath("people.yaml").read_text("utf-8"),
    _LOADER,  # noqa: S506
)
_KNOWN = TEXTS["headings"]
_APART_BY = "name the column that tells a person's lists apart by --trial COLUMN"
_SAME = ["participant", "trial"]  # of one list
_ABOVE = 5  # rows that may stand above the headings
_LOOKED_AT = 100  # rows, to see whether a column holds lists
_NO_WORD = re.compile(
    r"(特に|該当)(なし|無し|ナシ)|無し|(特に)?(ない|ありません)|(無|未)(回答|記入)|不明|(わか|分か)(らない|りません)"
    r"|none|nil|null|nan|\W?n[/.]?a\.?",
    re.IGNORECASE,
)
_NASHI = re.compile(r"なし|ナシ")  # nothing, or a pear
NOTHING = re.compile(
    rf"[\W_ー]*+([0-9]+(\.[0-9]*)?)?|{_NASHI.pattern}|{_NO_WORD.pattern}", re.IGNORECASE
)
# A number or a date; what asks for an answer, and gives none.
_FIGURES = re.compile(r"[\d\W_]*\d[\d\W_]*")
_ASKS = re.compile(
    r"(下|くだ)さい|(書|か)いて|please|\b(enter|write|type|list)\b.*\b(words?|nouns?)\b",
    re.IGNORECASE,
)
# Line breaks of pages and of spreadsheets
_MACHINES = re.compile(r"<br\s*/?>|_x000D_\n?", re.IGNORECASE)
# What parts a person's words wherever it stands; and where every piece has it (コーヒー・カップ may be one word).
_APART = re.compile(r"[。→⇒➡>/|【】]|[」』]\s*[「『]|\s[-‐−–—~+&]\s")
_WITHIN = re.compile(r"[・.]|(?<=[^\x00-\x7f])[-‐−–—~+&](?=[^\x00-\x7f])")
# What is no person, though it stands where people do: in a row, and in all of a column.
_TOTAL = r"(?i)^(平均値?|合計|総計|小計|標準偏差|average|mean|total|sum)$"
_NOBODY = (
    r"(?i)$|anonymous|匿名|(19|20)\d\d[-/.年]\d{1,2}[-/.月]\d{1,2}(?!\d)|\d{1,2}:\d\d"
    r"|\d{1,2}[-/.]\d{1,2}[-/.]((19|20)\d\d|\d\d[ T,]+\d)"
)
# What stands for no answer where a number is asked for, and what stands behind a number.
_NO_NUMBER = re.compile(rf"[\W_ー]*|-9+|{_NO_WORD.pattern}", re.IGNORECASE)
_UNIT = r"(?<=[0-9])\s*(歳|才|点|years?( old)?)$"
# Two of these in a cell are a remark.
_PROSE = re.compile(
    "the|an?|i|it|was|is|to|of|and|but|not|very|.+(です|ます|でした|ました|かった|ので|けど|ない)"
)
_LABEL = r"(?:(?:単語|words?|no\.?|第|q)\s*)?"  # before a number
_CIRCLED = re.compile(rf"{_LABEL}[①-⑳❶-❿➀-➓㊀-㊉]語?", re.IGNORECASE)
_READING = re.compile(
    r"(?<=\w)[ \t]*(?:\((?![0-9]{1,2}\))[^()\n]*+\)|[\[【〈《<][ぁ-ゖァ-ヺー]++[\]】〉》>])"
)
_KANJI = "一二三四五六七八九十"
_LETTERS = (
    "アイウエオカキクケコ",
    "あいうえおかきくけこ",
    "abcdefghij",
    "ABCDEFGHIJ",
)  # that people count with
_BEHIND = r"[\s.)\]】>:、,・-]"  # a number
_SIGNS = ("So", "Sm", "Sk", "Po", "Co")  # of Unicode's categories; Co are Word's own
_EDGES = AROUND + "・()（）[]<#*-:,、!?！？\n\t"


def people_words(text: str, language: str = "ja", whole: bool = False) -> list[str]:
    """The words of an answer as a person writes it, in characters of normal width (NFKC); English in lower case.

    A space separates English words only where nothing else does: otherwise "ice cream" is meant as one. `whole` lines
    are not parted. Numbers that run through the list come off, kanji where something parts them from the word.

    >>> people_words("1. 犬\\n2. ﾈｺ"), people_words("・犬，法律、 海。"), people_words("一、犬 二、一日")
    (['犬', 'ネコ'], ['犬', '法律', '海'], ['犬', '一日'])
    >>> people_words("1. Cat\\n2. ice cream", "en"), people_words("Cat moon", "en")
    (['cat', 'ice cream'], ['cat', 'moon'])
    """
    text = _MACHINES.sub("\n", text)
    text = nfkc(_CIRCLED.sub("\n", text.lower() if language == "en" else text))
    text = _READING.sub("", _without_numbers(_without_marks(text)))
    if whole:
        words = [NUMBERING.sub("", line, count=1) for line in text.split("\n")]
    else:
        words = listed(_APART.sub("\n", text), language)
        if all(map(_WITHIN.search, words)):
            words = [word for piece in words for word in _WITHIN.split(piece)]
    words = [
        word
        for word in (word.strip(_EDGES) for word in words)
        if word and not _NO_WORD.fullmatch(word)
    ]
    nothing = [word for word in words if _NASHI.fullmatch(word)]
    return (
        [word for word in words if word not in nothing] if len(nothing) > 1 else words
    )


def _without_marks(text: str) -> str:
    """Line breaks for a sign that stands before every word, whatever it is: ◆犬 ◆法律."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    mark = lines[0][0] if lines else ""
    if not mark or mark in _EDGES or unicodedata.category(mark) not in _SIGNS:
        return text
    before_each = text.count(mark) > 1 and all(line.startswith(mark) for line in lines)
    return text.replace(mark, "\n") if before_each else text


def _without_numbers(text: str) -> str:
    """Line breaks for the numbers that run through a list: 1犬 2猫, 単語1:犬 単語2:猫, 一、犬 二、猫."""
    pieces, at = [], 0
    for number in range(1, 2 * NUM_WORDS + 1):
        if found := _marker(number).search(text, at):
            pieces.append(text[at : found.start()])
            at = found.end()
    pieces.append(text[at:])
    before, *filled = (any(map(str.isalnum, piece)) for piece in pieces)
    return (
        "\n".join(pieces) if not before and 1 < len(filled) < 2 * sum(filled) else text
    )


@cache
def _marker(number: int) -> re.Pattern[str]:
    own = _KANJI[number - 1 : number]
    letters = "".join(letters[number - 1 : number] for letters in _LETTERS)
    before = "(?<![^\\s、,;(])"
    kanji = (
        f"|{before}(?:{own}{_BEHIND}+|[{letters}][.):、]+)|{own}[.):]\\s*"
        if own
        else ""
    )
    digits = rf"(?<![0-9])0?{number}(?![0-9])\s*(?:語|つ目|個目|番目?)?{_BEHIND}*"
    return re.compile(rf"{_LABEL}(?:{digits}{kanji})", re.IGNORECASE)


def read_written(
    sheet: Sheet, language: str = "ja", named: Mapping[str, str] | None = None
) -> "pd.DataFrame":
    """A sheet's lists: participant, trial, group, words (as people's rule reads them), text (as the strict one); row by row.

    Columns: participant, trial, and answer or word1 to word10, or else those that hold lists. Where several do, each
    is a trial, and their row comes again for each. `named` says which column is participant, trial or group.
    Spellings that differ by width, case and blanks are one. `attrs` says "who" each row of the sheet is, and what is
    to be told: the "columns" that were read and those "unread", one that may hold "conditions", "unwritten"
    rows with a person and no list, "spellings" that are one, and the headings "used" for any of these. Rows that repeat
    or explain the headings, sums, and rows without a word beside others of the same list are no lists.
    """
    import pandas as pd

    sheet, named = sheet.answers(), named or {}
    columns, unread = _columns(sheet, language)
    participant = _participant(sheet, named, language)
    if "header_rows" not in named:
        _refuse_heading(sheet, participant, columns)
    trial = _column_of(sheet, "trial", named, language)
    group = _column_of(sheet, "group", named, language)
    if participant is None:
        way = "name it by --participant COLUMN, or add a column participant if each row is a person"
        raise sheet.wrong(f"no column is known to say who wrote a list; {way}")
    if not columns:
        way = "call the ten columns of a list so, or the one that holds it"
        raise sheet.wrong(
            f"no column answer (or word1 to word10), and no ten others hold a list; {way}"
        )
    asked, nothing = brief(str(participant.name)), participant.str[:0]
    if trial is None or trial.name == participant.name:
        trial = nothing.rename("")
    of = nothing if "group" not in named or group is None else _as_one(group)
    who, when = _as_one(participant.str.replace(_TOTAL, "", regex=True)), _as_one(trial)
    parts: list[pd.DataFrame] = []
    _refuse_headings_below(sheet)
    times = _short(list(columns))
    for name, own in columns.items():
        words, text = zip(*_read(own, language), strict=True)
        if any(list(words) == part["words"].tolist() for part in parts):
            continue  # the same lists once more, such as in one cell and in ten
        label = when if len(columns) == 1 else (when + f" {times[name]}").str.strip()
        part = pd.DataFrame({"participant": who, "trial": label, "text": text})
        parts.append(part.assign(words=words, group=of))
    lists = pd.concat(parts).sort_index(kind="stable")
    filled = lists["words"].str.len() > 0
    beside = lists.assign(filled=filled).groupby(_SAME)["filled"].transform("any")
    unwritten = lists.index[~beside & (lists["participant"] != "")]
    files = lists.index.to_series().map(_file)
    joined = lists.index[~filled.groupby(files.to_numpy()).transform("any")]
    unwritten = unwritten.difference(joined, sort=False)
    lists = lists[filled]
    lists.attrs["several"] = len(parts) > 1
    _refuse_wrong(sheet, lists, asked)
    spelled = (participant + " = " + who)[(participant != who) & (who != "")]
    named_of = (trial, of) if "group" in named else (trial,)
    others = [brief(str(column.name)) for column in named_of if column.any()]
    other = group if group is not None and "group" not in named else nothing
    lists.attrs |= {
        "who": who,
        "columns": f"{', '.join([asked, *others])}; {', '.join(columns)}",
        "unread": ", ".join(unread),
        "used": {participant.name, trial.name, of.name}
        | {column.name for own in columns.values() for column in own},
        "conditions": brief(str(other.name))
        if other[lists.index].nunique() > 1
        else "",
        "unwritten": unwritten.unique().tolist(),
        "joined": joined.unique(),
        "spellings": spelled.unique().tolist(),
    }
    return lists


def _short(questions: Sequence[str]) -> Mapping[str, str]:
    """What tells questions apart, where all begin or end with such: 前 of 前：10個書いてください, 後 of 名詞（後）.

    >>> _short(["前：10個", "後：もう10個"]), _short(["名詞（前）", "名詞（後）"]), _short(["a: x", "b"])
    ({'前：10個': '前', '後：もう10個': '後'}, {'名詞（前）': '前', '名詞（後）': '後'}, {'a: x': 'a: x', 'b': 'b'})
    """
    for form in (r"([^:：]{1,12})[:：].*", r".*[(（]([^()（）]{1,12})[)）]"):
        found = [re.fullmatch(form, name, re.DOTALL) for name in questions]
        short = [match[1].strip() for match in found if match]
        if len(set(short)) == len(questions):
            return dict(zip(questions, short, strict=True))
    return {name: name for name in questions}


def _refuse_wrong(sheet: Sheet, lists: "pd.DataFrame", asked: str) -> None:
    """A UserError for the first row that is no person's, or another's list."""
    again = lists.duplicated(_SAME)
    first = ""
    if again.any():
        own = lists[_SAME].iloc[again.to_numpy().argmax()]
        first = f"row {(lists[_SAME] == own).all(axis=1).idxmax()}"
    for wrong, why in (
        (
            lists["participant"] == "",
            f"names no participant in the column {asked}; fill it in, or name another one by --participant COLUMN",
        ),
        (
            lists.duplicated("participant") & (lists["words"].str.len().max() == 1),
            "is one word; put a person's ten words into one row",
        ),
        (
            lists.groupby("participant")["group"].transform("nunique") > 1,
            "is of a participant who is in another group elsewhere; if each was in every one, name the column by --trial",
        ),
        (
            again,
            f"has the {asked} of {first}, and lists of the same questions; leave one of the two rows out"
            if lists.attrs["several"]
            else f"has the {asked} and trial of {first}; leave one of them out, or {_APART_BY}",
        ),
    ):
        if wrong.any():
            raise sheet.wrong(why, wrong.idxmax())
    if lists.empty:
        raise UserError(f"{sheet.path}: holds no list below its headings")


def correlates(sheet: Sheet, names: Sequence[str], who: "pd.Series") -> "pd.DataFrame":
    """The numbers of the named columns: a row for each participant of `who` (row by row), a column for each name.

    Of several rows of a participant the mean counts. A UserError for a cell that is no number.
    """
    import pandas as pd

    sheet = sheet.answers()
    columns = {}
    for name in names:
        column = named_column(sheet, name)
        columns[name], wrong = numbers(column)
        if wrong.any():
            row = wrong.idxmax()
            cell = brief(nfkc(column[row]).strip())
            why = f"{cell} is no number, and {name} is to be correlated"
            raise sheet.wrong(why, row)
    return pd.DataFrame(columns, sheet.cells.index).groupby(who).mean()


def _file(row: object) -> str:
    """Of a folder's row its file: a.csv of "2 of a.csv"."""
    return str(row).partition(" of ")[2]


def numbers(column: "pd.Series") -> tuple["pd.Series", "pd.Series"]:
    """A column's numbers, 24 for 24歳, NaN for blanks, words that say nothing, and -99; and which cells are none."""
    import pandas as pd

    column = column.map(nfkc).str.strip()
    column = column.mask(column.str.fullmatch(_NO_NUMBER), "")
    digits = column.str.replace(_UNIT, "", regex=True)
    found = pd.to_numeric(digits, errors="coerce")
    return found, ~np.isfinite(found) & (column != "")


def named_column(sheet: Sheet, name: str) -> "pd.Series":
    """The column of this name; UserError where none, or more than one, has it."""
    found = sheet.columns(f"^{re.escape(plain(name))}$")
    if len(found) != 1:
        raise sheet.wrong(f"no column, or more than one, is called {name}")
    return found[0]


def _refuse_heading(
    sheet: Sheet,
    participant: "pd.Series | None",
    columns: Mapping[str, list["pd.Series"]],
) -> None:
    """UserError where a file's first row is no person: it is called as participants are, asks for words, or has no number
    where all others have."""
    called = "|".join(_KNOWN["participant"])
    others = sheet.cells.iloc[:, 0] if participant is None else participant
    odd = ~others.str.fullmatch(_FIGURES)
    way = "leave out what stands above, or say by --header-rows N how many rows are headings (1 if this is a person)"
    for _, own in sheet.cells.groupby(sheet.cells.index.map(_file), sort=False):
        for row, cells in own.head(1 if participant is not None else _ABOVE).iterrows():
            who = cells if participant is None else [participant[row]]
            answers = [one[row] for ten in columns.values() for one in ten]
            if (
                any(re.search(called, plain(cell)) for cell in who)
                or any(map(_ASKS.search, answers))
                or (len(own) > 2 and odd[own.index[0]] and not odd[own.index[1:]].any())
            ):
                shown = brief(" | ".join(filter(None, cells)))
                raise sheet.wrong(f"is a heading and no person ({shown}); {way}", row)


def _refuse_headings_below(sheet: Sheet) -> None:
    """UserError where a row has other rows' headings, in another order or spelling, as of files joined by hand."""
    names = {plain(name) for name in sheet.cells.columns if name.strip()}
    names = {name for name in names if not _FIGURES.fullmatch(name)}
    same = sheet.cells.map(plain).isin(names).sum(axis=1)
    filled = (sheet.cells != "").sum(axis=1)
    if len(rows := same.index[(same > 1) & (2 * same > filled)]):
        row = rows[0]
        shown = brief(" | ".join(filter(None, sheet.cells.loc[row])))
        way = "give the files in a folder, or each column the same place and heading"
        raise sheet.wrong(f"holds headings and no person ({shown}); {way}", row)


def only(sheet: Sheet, language: str, named: Mapping[str, Any]) -> Sheet:
    """The sheet without the rows that lack one of what `named` wants "only", COLUMN=VALUE each.

    A blank cell has its participant's value.
    """
    for wish in named.get("only", ()):
        name, _, value = wish.partition("=")
        answers = sheet.answers()
        folded = named_column(answers, name).map(_folded)
        said = folded.where(folded != "")
        who = _participant(answers, named, language)
        if who is not None:
            said = said.fillna(said.groupby(_as_one(who)).transform("first"))
        left = said.index[said != _folded(value)]
        if len(left) == len(said):
            there = brief(", ".join(said.dropna().unique()))
            raise sheet.wrong(f"no row has {wish}; the column holds: {there}")
        aside = {**sheet.aside, **dict.fromkeys(left, f"other than {wish}")}
        sheet = replace(sheet, cells=sheet.cells.drop(index=left), aside=aside)
    return sheet


def _column_of(
    sheet: Sheet, kind: str, named: Mapping[str, str], language: str
) -> "pd.Series | None":
    """The column of a kind: the one that is named, or the first known one that names somebody and holds no lists."""
    name = named.get(kind)
    for column in [named_column(sheet, name)] if name else sheet.columns(*_KNOWN[kind]):
        nobody = kind == "participant" and column.str.match(_NOBODY).all()
        if name and nobody:
            raise sheet.wrong(f"the column {name} holds dates or nothing, and no names")
        if name or not (nobody or _lists([column], language)):
            return column
    return None


def _participant(
    sheet: Sheet, named: Mapping[str, str], language: str
) -> "pd.Series | None":
    """Who wrote each row; in a folder another file may call participants otherwise."""
    participant = _column_of(sheet, "participant", named, language)
    if participant is not None and "participant" not in named:
        twin = f"^{re.escape(plain(str(participant.name)))}$"
        if any(
            ((other != participant) & (other != "") & (participant != "")).any()
            for other in sheet.columns(twin)
        ):
            raise sheet.wrong("has two columns of one name; rename one of them")
    if participant is not None and sheet.path.is_dir() and "participant" not in named:
        for other in sheet.columns(*_KNOWN["participant"]):
            participant = participant.where(participant != "", other)
    return participant


def _folded(cell: str) -> str:
    return "".join(nfkc(cell).casefold().split())


def _as_one(column: "pd.Series") -> "pd.Series":
    """Cells that differ by width, case and blanks alone are as the shortest of them, capitals first; 7 of 7.0.

    A spreadsheet makes 7.0 of 7. 007 is another one: a spreadsheet would have made 7 of all such.
    """
    whole = column.map(nfkc).str.replace(r"^([0-9]+)\.0+$", r"\1", regex=True)
    best: dict[str, str] = {}
    for cell in sorted(set(whole), key=lambda cell: (len(cell), cell)):
        best.setdefault(_folded(cell), cell)
    return whole.map(lambda cell: best[_folded(cell)])


def _columns(
    sheet: Sheet, language: str
) -> tuple[dict[str, list["pd.Series"]], list[str]]:
    """The columns of each list of a row (one, or the ten of its words) by what they are called; and what is not read."""
    # Whatever it is called: seven different words in most rows, in one cell or in ten. One remark as long is no list.
    single = [
        [cells] for name, cells in sheet.cells.items() if not name.startswith("sozo")
    ]
    counts = {_called(own): _lists(own, language) for own in single}
    sets = sheet.sets()
    tens = [
        ten
        for _, own in sets
        if len(own) == NUM_WORDS
        and (ten := _ten(own))
        and not any(counts.get(_called([cells])) for cells in ten)
    ]
    counts |= {_called(own): _lists(own, language) for own in tens}
    most = max(counts.values(), default=0)
    held = {name for name, n in counts.items() if n > 1 or 2 * n >= most > 0}
    holding = [own for own in single + tens if _called(own) in held]
    answers = [[cells] for cells in sheet.columns(*_KNOWN["response"])]
    found = [own for own in answers if _called(own) in held] or answers
    # With an answer, 1 to 5 are a scale.
    known = _KNOWN["around"] if found else ["", *_KNOWN["around"]]
    for own in (own for around, own in sets if around in known):
        each = [[cells] for cells in own.values()]
        if held.issuperset(map(_called, each)):
            found += each
        elif ten := _ten(own):
            found.append(ten)
        else:
            names = ", ".join(map(_called, [*found, list(own.values())]))
            raise UserError(
                f"{sheet.path}: lists may be in {names} (not all ten); have one column answer, or all ten of word1 to "
                "word10 (empty if not asked), and rename those that are not to be scored"
            )
    lists: dict[str, list[pd.Series]] = {}
    for one in found or holding:
        name = _called(one)
        lists[f"{name} (again)" if name in lists else name] = one
    unread = {name for name, n in counts.items() if n} - lists.keys()
    for _, own in sets:
        if (ten := _ten(own)) and _called(ten) in lists:
            unread |= {_called([own[k]]) for k in own if k > NUM_WORDS}
    return lists, sorted(unread)


def _called(columns: list["pd.Series"]) -> str:
    return "–".join(dict.fromkeys(brief(str(columns[k].name)) for k in (0, -1)))


def _ten(columns: dict[int, "pd.Series"]) -> list["pd.Series"]:
    """The columns 1 to 10 of a set, or 0 to 9; none if it lacks one of them, or has one twice."""
    first = 0 if NUM_WORDS not in columns else 1
    numbers = range(first, first + NUM_WORDS)
    return (
        [columns[k] for k in numbers]
        if columns.keys() >= set(numbers) and -1 not in columns
        else []
    )


def _lists(columns: list["pd.Series"], language: str) -> int:
    """How many rows hold a list, if most do that hold anything."""
    read = [
        len(set(words)) * (len([*filter(_PROSE.fullmatch, words)]) < 2)
        for words, _ in _read([own[:_LOOKED_AT] for own in columns], language)
        if words
    ]
    return (
        sum(number >= COUNTED for number in read)
        if np.median(read or [0]) >= COUNTED
        else 0
    )


def _read(columns: list["pd.Series"], language: str) -> list[tuple[list[str], str]]:
    """Of each row the words, as people's rule reads them, and the text, as the strict one does."""
    rows = [
        ["" if NOTHING.fullmatch(cell.strip(_EDGES)) else cell for cell in row]
        for row in zip(*columns, strict=True)
    ]
    if len(columns) > 1:
        lines = ["\n".join(" ".join(cell.split()) for cell in row) for row in rows]
        return [
            (words, write_list(words))
            for words in (people_words(text, language, whole=True) for text in lines)
        ]
    fields = [_fields(text) for (text,) in rows]
    texts = fields if any(fields) else [text.replace("\r\n", "\n") for (text,) in rows]
    return [(people_words(text, language), text) for text in texts]


def _fields(cell: str) -> str:
    """The answers in a cell of jsPsych, {"Q0": ...}, one a line; none in what is no such cell."""
    with suppress(ValueError):
        if cell.startswith("{") and isinstance(fields := parse_json(cell), dict):
            return "\n".join(str(field) for field in fields.values() if field)
    return ""
