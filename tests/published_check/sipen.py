"""What SIPeN's printed tables (Sano et al., NLP 2025) hold: counts behind the figures, what fits, and what does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sozo.data.published import load, load_text
from sozo.scoring.statistics.proportions import mcnemar, wilson

DENOMINATORS = {
    "quantifier": 446,
    "numeral": 591,
    "adjective": 39,
}  # hypotheses, from Table 1
PREMISES = 387
MOST_NINE, MOST_TEN = 3, 1  # how often the two words stand in PersonaBank at all
LABELS = ("implicature", "entailment")
VERDICTS = ("below 0.05", "open", "not below 0.05")
MISPRINT = (
    "49.3"  # Table 5, Llama-70B, some, one step; Table 6 has the same cell as 49.4
)


@dataclass(frozen=True, slots=True)
class Share:
    """A printed share and the counts that print it."""

    cell: str
    printed: str  # in percent
    n: int
    counts: tuple[int, ...]  # every k for which k / n prints so


@dataclass(frozen=True, slots=True)
class Pair:
    """Two printed shares of the same premises, and how McNemar's p depends on what is not printed, their pairing."""

    cell: str
    n: int
    first: int
    second: int
    least: float
    most: float

    @property
    def verdict(self) -> str:
        """Whether p is below 0.05."""
        return (
            VERDICTS[0]
            if self.most < 0.05
            else VERDICTS[2]
            if self.least >= 0.05
            else VERDICTS[1]
        )


@dataclass(frozen=True, slots=True)
class Allocation:
    """How many premises have which expression, where the figures do not say it."""

    most: int
    many: int
    few: int
    arabic: int
    words: int  # three to ten
    fewer: tuple[
        int, int
    ]  # premises with 1, 2 in digits, or with ten, nine: these have fewer than four hypotheses


def counts_of(printed: str, n: int) -> tuple[int, ...]:
    """Every k for which k / n in percent prints so.

    >>> counts_of("13.5", 446), counts_of("49.3", 79)
    ((60,), ())
    """
    half = Fraction(1, 20)
    return tuple(
        k for k in range(n + 1) if abs(Fraction(100 * k, n) - Fraction(printed)) <= half
    )


def accuracy() -> list[Share]:
    """The cells of Table 4."""
    cells = []
    for row in load_text("sipen_accuracy"):
        for category, n in DENOMINATORS.items():
            for label in LABELS:
                printed = row[f"{category}_{label}"]
                cells.append(
                    Share(
                        f"{row['model']}, {category}, {label}",
                        printed,
                        n,
                        counts_of(printed, n),
                    )
                )
    return cells


def _printed() -> Iterator[tuple[str, str, str, str, tuple[str, str]]]:
    """Of Tables 5 and 6: table, expression, direction, model, two figures."""
    for row in load_text("sipen_steps"):
        yield (
            "5",
            row["expression"],
            row["direction"],
            row["model"],
            (row["one_step"], row["two_steps"]),
        )
    for row in load_text("sipen_direction"):
        yield (
            "6",
            row["expression"],
            "both",
            row["model"],
            (row["stronger"], row["weaker"]),
        )


def denominators(number: str = "56") -> dict[str, int]:
    """Expression -> the least n that prints all its figures in these tables; Table 5 leaves out what has no n."""
    figures: dict[str, set[str]] = {}
    for name, expression, _, _, pair in _printed():
        if name in number:
            figures.setdefault(expression, set()).update(pair)
    figures = {
        name: texts - {MISPRINT} if "5" in number else texts
        for name, texts in figures.items()
    }
    return {
        name: next(
            n for n in range(1, PREMISES) if all(counts_of(text, n) for text in texts)
        )
        for name, texts in figures.items()
    }


def shares(number: str) -> list[Share]:
    """The cells of Table 5 or 6."""
    n = denominators()
    return [
        Share(
            f"{model}, {expression}, {direction}, {place}",
            text,
            n[expression],
            counts_of(text, n[expression]),
        )
        for name, expression, direction, model, pair in _printed()
        if name == number
        for place, text in zip(
            ("1 step", "2 steps") if number == "5" else ("stronger", "weaker"),
            pair,
            strict=True,
        )
    ]


def pairs(number: str) -> list[Pair]:
    """The comparisons of Table 5 or 6, each with the least and the greatest p that its margins allow."""
    n, compared = denominators(), []
    for name, expression, direction, model, texts in _printed():
        if name == number:
            size = n[expression]
            # The misprint is taken as Table 6 has it.
            first, second = (
                counts_of("49.4" if text == MISPRINT else text, size)[0]
                for text in texts
            )
            both = range(max(0, first + second - size), min(first, second) + 1)
            p = [mcnemar(first - k, second - k) for k in both]
            compared.append(
                Pair(
                    f"{model}, {expression}, {direction}",
                    size,
                    first,
                    second,
                    min(p),
                    max(p),
                )
            )
    return compared


def allocations() -> list[Allocation]:
    """Every way to divide 387 premises and 1,076 hypotheses that agrees with Table 1 and the tables' denominators.

    An expression has a hypothesis for each neighbour within two steps: all 2, most 3, many 4, some 3, few 2; one 2,
    two 3, three to eight 4, nine 3, ten 2; digits 2, 3 and from 3 on 4; an adjective 1.
    """
    known = denominators()
    quantifiers = DENOMINATORS["quantifier"] - 2 * known["all"] - 3 * known["some"]
    words = {row["scale"]: row["hypotheses"] for row in load("sipen_scales")}
    spelt = words["ten-two-one"] - 3 * known["two"] - 2 * known["one"]
    left = PREMISES - sum(known.values()) - DENOMINATORS["adjective"]
    found = []
    for most, many in ((a, b) for a in range(quantifiers) for b in range(quantifiers)):
        few, odd = divmod(quantifiers - 3 * most - 4 * many, 2)
        if few < 0 or odd:
            continue
        for arabic, ones, twos in _divided(words["n-2-1"]):
            for number, tens, nines in _divided(spelt):
                if (
                    most + many + few + arabic + number == left
                    and tens <= MOST_TEN
                    and nines <= MOST_NINE
                ):
                    fewer = (ones + tens, twos + nines)
                    found.append(Allocation(most, many, few, arabic, number, fewer))
    return found


def _divided(hypotheses: int) -> Iterator[tuple[int, int, int]]:
    """Premises in all, with two hypotheses, with three; the others have four."""
    for two in range(4):
        for three in range(5):
            rest = hypotheses - 2 * two - 3 * three
            if rest >= 0 and rest % 4 == 0:
                yield rest // 4 + two + three, two, three


def unborne() -> list[str]:
    """Sentences of the paper that its tables do not bear out."""
    numeral = {
        row["model"]: row["numeral_implicature"] for row in load_text("sipen_accuracy")
    }
    some = [row for row in _direction("some") if row["weaker"] <= row["stronger"]]
    two = [
        row["model"] for row in _direction("two") if row["stronger"] <= row["weaker"]
    ]
    but = ", ".join(
        f"{row['model']} ({row['weaker']} against {row['stronger']})" for row in some
    )
    owner = f"GPT-4o has {numeral['GPT-4o']}; {numeral['GPT-4o-mini']} is GPT-4o-mini's"
    capitals = "cannot be meant literally: all three premises of Table 2 begin with a capital letter"
    return [
        f"「数詞に対する推意ラベルの正答率は、GPT-4oにおいて7割」: {owner}.",
        f"「(some, 1段階の変化) の場合、意味を弱めた方向の方が強めた方向より正答率が高かった」: not for {but}.",
        f"「(two, 1段階の変化) の場合には意味を強めた方向の方が高い」: a tie for {' and '.join(two)}.",
        f"「前提の先頭が大文字のものを疑問文・命令文とみなして除外」: {capitals}.",
    ]


def _direction(expression: str) -> list[dict[str, Any]]:
    return [row for row in load("sipen_direction") if row["expression"] == expression]


def facts() -> list[str]:
    """What the tables' counts say."""
    cells, (low, high), ways = accuracy(), wilson(21, 39), allocations()
    unique = sum(len(cell.counts) == 1 for cell in cells)
    five, six = ([bool(share.counts) for share in shares(number)] for number in "56")
    least = ", ".join(f"{name} {n}" for name, n in denominators().items())
    triples = ", ".join(
        map(str, sorted({(way.most, way.many, way.few) for way in ways}))
    )
    arabic, words = (
        {getattr(way, name) for way in ways} for name in ("arabic", "words")
    )
    numerals = f"{_either(arabic)} in digits, {_either(words)} from three to ten"
    total = sum(row["hypotheses"] for row in load("sipen_scales"))
    return [
        f"Table 1: {total:,} hypotheses, as the text says.",
        f"Table 4: {unique} of {len(cells)} cells are k / n for one k only, n = 446, 591, 39.",
        f"The least n that prints all figures of an expression in Tables 5 and 6: {least}.",
        f"Table 5: {sum(five)} of {len(five)} cells are k / n; Table 6: {sum(six)} of {len(six)}.",
        "A misprint: Llama-70B, some, one step is 49.3 in Table 5, 49.4 in Table 6: 39 / 79; no k / 79 prints 49.3.",
        f"{len(ways)} allocations of the {PREMISES} premises fit: (most, many, few) in {triples}; {numerals}.",
        "For these, One and Two of Tables 5 and 6 hold no 1 and 2; nine and ten come no oftener than in PersonaBank.",
        f"Adjectives: the 95% interval (Wilson) of Llama-70B's 53.8, 21 of 39, is {low:.1%} to {high:.1%}.",
    ]


def significance() -> list[str]:
    """What McNemar's test can say without the pairs."""
    lines = []
    for number in "56":
        said = Counter(pair.verdict for pair in pairs(number))
        counted = ", ".join(f"{said[verdict]} {verdict}" for verdict in VERDICTS)
        lines.append(
            f"Table {number}, {said.total()} comparisons, p whatever the pairing: {counted}."
        )
    return lines


def _either(values: set[int]) -> str:
    return " or ".join(map(str, sorted(values)))
