"""The paper's Tables 4 to 6 and what they need beside them: which answers were given, and controls."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sozo.scoring.measure import Estimate
from sozo.scoring.statistics.proportions import grouped_share, holm, mcnemar
from sozo.suite.sipen.items import (
    ANSWERS,
    CATEGORIES,
    CONTROL,
    DIRECTIONS,
    ENTAILMENT,
    IMPLICATURE,
    NO,
    STRONGER,
    WEAKER,
    SipenItem,
)

OTHER = "other"  # an answer that is none of the options
LABELS = {"implicature": IMPLICATURE, "entailment": ENTAILMENT}
_CONSTANT = 0.95  # from this share of all answers on, one answer is called constant
_LEAST_PREMISES = 5  # of an expression with a row of its own in Tables 5 and 6
Place = tuple[str, int]  # a direction and the number of steps


@dataclass(frozen=True, slots=True)
class SipenReply:
    """What a model answered."""

    item: SipenItem
    # One of `ANSWERS`; None if it is none of the options: wrong by every label, and counted
    answer: str | None


def tables(replies: Sequence[SipenReply], items: Sequence[SipenItem]) -> dict[str, Any]:
    """What `metrics.json` holds beside the measures: `replies` to `items`, a share as `Estimate.to_json` has it."""
    given_answers = Counter(
        (reply.item.direction, reply.answer or OTHER) for reply in replies
    )
    directions = [
        name
        for name in DIRECTIONS
        if any(reply.item.direction == name for reply in replies)
    ]
    steps = _contrasts(replies, STRONGER, (STRONGER, 1), (STRONGER, 2))
    steps += _contrasts(replies, WEAKER, (WEAKER, 1), (WEAKER, 2))
    return {
        "answers": {
            name: {a: given_answers[name, a] for a in (*ANSWERS, OTHER)}
            for name in directions
        },
        "constant": _constant(replies),
        "constant_scores": {
            answer: _constant_scores(items, answer) for answer in ANSWERS
        },
        "controls": {
            d: accuracy(replies, {d: CONTROL[d]}).to_json()
            for d in directions
            if d in CONTROL
        },
        "accuracy": {
            category: _accuracies(replies, category)
            for category in _categories(replies)
        },
        # Table 5: one step against two in the same direction
        "steps": _corrected(steps),
        # Table 6: stronger against weaker, one step away.
        "directions": _corrected(_contrasts(replies, "", (STRONGER, 1), (WEAKER, 1))),
    }


def accuracy(replies: Iterable[SipenReply], labels: Mapping[str, str]) -> Estimate:
    """The share of right answers to items of the directions in `labels`, which name the right one of each."""
    return _share(
        (reply, reply.answer == labels[reply.item.direction])
        for reply in replies
        if _in(reply, labels)
    )


def _in(reply: SipenReply, labels: Mapping[str, str]) -> bool:
    return reply.item.direction in labels


def _share(verdicts: Iterable[tuple[SipenReply, bool]]) -> Estimate:
    """The share of which something holds; premises are what is independent."""
    by_premise: defaultdict[str, list[bool]] = defaultdict(list)
    for reply, holds in verdicts:
        by_premise[reply.item.premise_id].append(holds)
    return grouped_share(
        [(sum(of_premise), len(of_premise)) for of_premise in by_premise.values()]
    )


def _categories(replies: Iterable[SipenReply]) -> list[str]:
    """Those that hypotheses have, the paper's first."""
    own = dict.fromkeys(
        reply.item.category for reply in replies if _in(reply, IMPLICATURE)
    )
    return sorted(
        own,
        key=lambda name: (
            CATEGORIES.index(name) if name in CATEGORIES else len(CATEGORIES)
        ),
    )


def _accuracies(replies: Iterable[SipenReply], category: str) -> dict[str, Any]:
    """A row of Table 4: accuracy by implicature, by entailment, and the share that is right by neither."""
    own = [
        reply
        for reply in replies
        if reply.item.category == category and _in(reply, IMPLICATURE)
    ]
    right = [
        {labels[reply.item.direction] for labels in LABELS.values()} for reply in own
    ]
    neither = _share(
        (reply, reply.answer not in answers)
        for reply, answers in zip(own, right, strict=True)
    )
    return {
        name: accuracy(own, labels).to_json() for name, labels in LABELS.items()
    } | {"neither": neither.to_json()}


def _constant(replies: Sequence[SipenReply]) -> str | None:
    """The answer that is nearly every one, `OTHER` too; None if there is none."""
    for answer, n in Counter(reply.answer or OTHER for reply in replies).most_common(1):
        if n >= _CONSTANT * len(replies):
            return answer
    return None


def _constant_scores(
    items: Sequence[SipenItem], answer: str
) -> dict[str, float | None]:
    """What always giving one answer scores: accuracy on hypotheses by either label, and on controls."""
    replies = [SipenReply(item, answer) for item in items]
    return {
        name: accuracy(replies, labels).value
        for name, labels in (LABELS | {"controls": CONTROL}).items()
    }


def _contrasts(
    replies: Sequence[SipenReply], direction: str, first: Place, second: Place
) -> list[dict[str, Any]]:
    """Rows of Table 5 or 6: the implicature accuracy (the share of No) in two places, on the premises with both.

    Categories come first, then expressions. `direction` is that of both places, empty where it is what differs; p is by
    McNemar's exact test, `only_first` are premises with No in the first place alone.
    """
    is_no: dict[str, dict[str, dict[Place, bool]]] = {
        category: {} for category in _categories(replies)
    }
    for reply in replies:
        item, place = reply.item, (reply.item.direction, reply.item.steps)
        for name in (item.category, item.expression.lower()):
            # Of several answers to one item the first counts
            if place in (first, second) and name:
                is_no.setdefault(name, {}).setdefault(item.premise_id, {}).setdefault(
                    place, reply.answer == NO
                )
    rows: list[dict[str, Any]] = []
    for name, premises in is_no.items():
        pairs = [
            (by_place[first], by_place[second])
            for by_place in premises.values()
            if len(by_place) == 2
        ]
        if len(pairs) >= _LEAST_PREMISES:
            shares = [
                grouped_share([(int(pair[k]), 1) for pair in pairs]).to_json()
                for k in (0, 1)
            ]
            only_first = pairs.count((True, False))
            only_second = pairs.count((False, True))
            row: dict[str, Any] = {
                "expression": name,
                "direction": direction,
                "first": shares[0],
                "second": shares[1],
            }
            row |= {
                "only_first": only_first,
                "only_second": only_second,
                "p": mcnemar(only_first, only_second),
            }
            rows.append(row)
    return rows


def _corrected(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a table with `p_holm`, corrected for all of them."""
    return [
        row | {"p_holm": p}
        for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True)
    ]
