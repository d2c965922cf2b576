"""What was compared, as sentences of a paper: what they say is decided once, and said in English and in Japanese."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sozo.scoring.numbers import p_value
from sozo.scoring.table import Cell
from sozo.suite.people.designs import Design, Row, Sample, assumptions
from sozo.suite.people.lists import TEXTS
from sozo.suite.people.messages import in_japanese

if TYPE_CHECKING:
    import pandas as pd

# Its name among the texts of people.yaml, and what stands in it: numbers, names, sentences, or a list of such.
Sentence = tuple[str, Any]
Both = tuple[str, str]  # in English and in Japanese
_PAPER = TEXTS["paper"]
_CALLED = {"ICC(2,1)": "icc", "ηp²": "eta", "Correlation with": "with"}
_NO_ZERO = ("r", "icc", "eta")  # what is written without it before the point
_SECOND = ("retests", "correlations")  # what has a paragraph of its own


def both(*sentences: Sentence) -> Both:
    """Sentences of one paragraph, in either language."""
    english, japanese = (
        [said(sentence, tongue) for sentence in sentences] for tongue in (0, 1)
    )
    return " ".join(english), "".join(japanese)


def said(what: Any, tongue: int) -> Any:
    """A sentence, a heading, or a list of them in English (0) or in Japanese (1); numbers and names stay.

    >>> said(("some_left", {"total": 3, "n": 1, "detail": "", "reasons": [("left_few", {"n": 2})]}), 0)
    'Of 3 participants, 1 entered the analysis; left out were 2 with fewer than seven valid words in a list.'
    """
    match what:
        case list():
            told = (str(said(one, tongue)) for one in what)
            return ("、" if tongue else ", ").join(told)
        case (str(name), facts):
            facts = {key: said(fact, tongue) for key, fact in facts.items()}
            return _PAPER[name][tongue].format(**facts)
        case str() if tongue:
            return TEXTS["page"].get(what) or in_japanese(what)
    return what


def participants(
    sample: Sample, sexes: Mapping[str, int], ages: "pd.Series"
) -> list[Sentence]:
    """Who took part, who is left out for which reason, and who is analysed; `sexes` and `ages` are theirs, if asked."""
    n = len(sample.scores)
    facts = [("count", {"name": name, "n": count}) for name, count in sexes.items()]
    if known := int(ages.count()):
        facts.append(("age", {"mean": ages.mean(), "sd": ages.std()}))
        facts += [("no_age", {"n": n - known})] * (known < n)
    told: dict[str, Any] = {
        "detail": ("detail", {"facts": facts}) if facts else "",
        "n": n,
    }
    told |= {"total": n + len(sample.left_out), "reasons": left_out(sample)}
    groups = [
        ("count", {"name": name, "n": len(own)}) for name, own in sample.parts.items()
    ]
    sentences = [("some_left" if told["reasons"] else "none_left", told)]
    return sentences + [("groups", {"names": groups})] * (len(groups) > 1)


def left_out(sample: Sample, *, names: bool = False) -> list[Sentence]:
    """How many are left out for each reason, or who."""
    found: list[Sentence] = []
    for why, own in sample.left_out.groupby(sample.left_out, sort=False):
        reason = (f"left_{why}", {"n": len(own)})
        named = {"reason": reason, "names": [*map(str, own.index)]}
        found.append(("left_names", named) if names else reason)
    return found


def analysis(sample: Sample, design: Design) -> list[Sentence]:
    """How numbers were made."""
    scores, parts = sample.scores, sample.parts
    each: Sentence | str = ("each_group", {}) if len(parts) > 1 else ""
    facts = {"times": [*scores], "groups": [*parts], "each": each}
    facts["what"] = _score(sample)
    sentences: list[Sentence] = []
    for kind, rows in _compared(design):
        if kind == "anova":
            factors = (len(parts) > 1) + 2 * (scores.shape[1] > 1)
            kind = ("", "anova_between", "anova_within", "anova_mixed")[factors]
        sentences.append((f"{kind}_made", facts))
        if "anova" in kind:
            sentences += [("sphericity", {})] * (scores.shape[1] > 2)
        elif len(rows) > 1 and kind != "retests":
            sentences.append(("holm", {"n": len(rows)}))
    sentences += [("d_times", {})] * bool(design["times"])
    sentences += [("d_groups", {})] * bool(design["baseline"] or design["groups"])
    return [*sentences, ("level", {})] if sentences else []


def found(sample: Sample, design: Design) -> tuple[list[Sentence], list[Sentence]]:
    """What came of it: of groups and times, and of correlations."""
    told: tuple[list[Sentence], list[Sentence]] = [("shown", {})], []
    for kind, rows in _compared(design):
        sentences = [_sentence(kind, row, sample) for row in rows]
        told[kind in _SECOND].extend(sentences)
    return told


def checked(sample: Sample) -> list[Sentence]:
    """What the assumptions of tests look like, in two sentences."""
    known = assumptions(sample)
    normal = [f"W = {w:.3f}, {p_value(p)}" for w, p in known["normal"]]
    equal = [f"{f:.2f}, {p_value(p)}" for f, p in known["equal"]]
    groups, far = len(sample.parts), known["outliers"]
    df = f"{groups - 1}, {len(sample.scores) - groups}"
    what: Sentence = ("changed" if sample.scores.shape[1] > 1 else "score", {})
    spread = ("equal", {"df": df, "tests": equal}) if equal else ""
    return [
        ("normal", {"what": what, "normal": normal, "equal": spread}),
        ("outliers", {"names": far}) if far else ("no_outliers", {}),
    ][not normal :]


def _compared(design: Design) -> list[tuple[str, Sequence[Row]]]:
    return [(kind, rows) for kind, rows in design.items() if rows and kind != "means"]


def _score(sample: Sample) -> Sentence:
    """What is correlated."""
    return "mean_score" if sample.scores.shape[1] > 1 else "score", {}


def _sentence(kind: str, row: Row, sample: Sample) -> Sentence:
    facts: dict[str, Any] = {"of": "", "what": _score(sample)}
    why = []
    for heading, content in row.items():
        name = _CALLED.get(heading, heading.lower())
        cell = content if isinstance(content, Cell) else Cell(content)
        text, ends = cell.text, cell.interval
        if name in _NO_ZERO:
            text, ends = (re.sub(r"\b0(?=\.)", "", part) for part in (text, ends))
        level = 90 if name == "eta" else 95
        facts |= {name: text, f"{name}_ci": ends and f", {level}% CI {ends}"}
        why += [*cell.below, *[text] * (name == "r" and cell.estimate.value is None)]
    if "group" in facts:
        facts["of"] = ("of", {"group": facts["group"]})
    if kind == "retests":
        pair = {"first": sample.scores.columns[0], "later": facts["time"]}
        facts["times"] = ("both", pair)
    if why:
        return f"{kind}_none", {**facts, "why": why[0]}
    p = row["p"].estimate.value
    facts["p"] = p_value(p).replace("0.", ".")
    facts["verdict"] = ("significant" if p < 0.05 else "not_significant", {})
    return f"{kind}_row", {**facts, "t_test": ("t_test", facts) if "t" in facts else ""}
