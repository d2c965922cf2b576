"""What classifiers score on SIPeN's items that see a part of each: the table of suite/README.md, or of your own items.

    python benchmarks/shortcuts.py
    python benchmarks/shortcuts.py --items items.jsonl

It is a property of the items: where one is far above a guess, a model need not read to score.
"""

import argparse
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from sozo.scoring.measure import MEAN, Estimate
from sozo.scoring.numbers import SHARE
from sozo.scoring.statistics.means import no_spread, student
from sozo.scoring.table import Cell, markdown, tabulate
from sozo.suite.sipen.items import (
    CONTROL,
    ENTAILMENT,
    SipenItem,
    read_items,
    trial_items,
)


def n_grams(text: str) -> set[str]:
    """The runs of 1 to 3 characters in a text.

    >>> sorted(n_grams("無い"))
    ['い', '無', '無い']
    """
    return {text[k : k + n] for n in (1, 2, 3) for k in range(len(text) - n + 1)}


def without_reading(
    tokens: Sequence[Collection[str]], answers: Sequence[str], groups: Sequence[str]
) -> Estimate | None:
    """Balanced accuracy, 0 to 1, of naive Bayes that sees the tokens of each question, with its 95% interval.

    It is cross-validated: what it says of a group's questions it learnt from those of the other groups. Balanced
    accuracy is the mean over the answers of the share of their questions that are right; who guesses has one in as many
    as there are answers. The interval is Student's over the groups, which are what is independent. None where there is
    one answer only, or one group.

    >>> tokens, answers = [["dark"], ["light"]] * 8, ["night", "day"] * 8
    >>> without_reading(tokens, answers, list("aabbccddeeffgghh")).value
    1.0
    """
    kinds, kind = np.unique(np.array(answers), return_inverse=True)
    names, group = np.unique(np.array(groups), return_inverse=True)
    if len(kinds) < 2 or len(names) < 2:
        return None
    place = {token: k for k, token in enumerate(sorted(set().union(*tokens)))}
    seen = np.zeros(
        (len(tokens), len(place)), np.float32
    )  # which tokens a question has
    for row, of_one in zip(seen, tokens, strict=True):
        row[[place[token] for token in of_one]] = 1
    is_kind = np.eye(len(kinds))[kind]
    in_all, right = is_kind.T @ seen, np.empty(len(tokens))
    for number in range(len(names)):
        own = group == number
        counts = (
            in_all - is_kind[own].T @ seen[own] + 1
        )  # of each answer; one more of each token, as Laplace has it
        likely = seen[own] @ np.log(counts / counts.sum(axis=1, keepdims=True)).T
        right[own] = likely.argmax(axis=1) == kind[own]
    questions = is_kind.sum(axis=0)
    recall = right @ is_kind / questions
    # How far each group moves the mean of the recalls (the delta method).
    moves = np.bincount(group, (right - recall[kind]) / questions[kind])
    values = recall.mean() + len(names) / len(kinds) * moves
    return SHARE.inside(student(values, no_spread(values)), MEAN)


def shortcuts(items: Iterable[SipenItem]) -> dict[str, dict[str, Estimate]]:
    """What classifiers that see a part of each item have: balanced accuracies with their intervals, 0 to 1.

    Of controls and, by their entailment labels, of the scale's items (implicature labels are all No): by the
    hypothesis alone, by the premise alone, both as runs of characters, and by the form of the two: lengths, overlap,
    equality and last letters. They are cross-validated by premise, and premises of one story stay together.
    """
    return {
        "controls": of_labels(items, CONTROL),
        "scale items": of_labels(items, ENTAILMENT),
    }


def of_labels(
    items: Iterable[SipenItem], labels: Mapping[str, str]
) -> dict[str, Estimate]:
    own = [item for item in items if item.direction in labels]
    answers, groups = (
        [labels[item.direction] for item in own],
        [item.story or item.premise_id for item in own],
    )
    means = {
        part: without_reading(list(map(see, own)), answers, groups)
        for part, see in _PARTS.items()
    }
    return {part: mean for part, mean in means.items() if mean}


def _form(item: SipenItem) -> set[str]:
    own = n_grams(item.hypothesis)
    sizes = (
        len(item.hypothesis),
        len(item.premise),
        30 * len(n_grams(item.premise) & own) // len(own),
    )
    steps = {
        f"size {k} from {step}"
        for k, size in enumerate(sizes)
        for step in range(0, size, 2)
    }
    return (
        steps
        | {item.hypothesis[-k:] for k in range(1, 5)}
        | {f"equal {item.premise == item.hypothesis}"}
    )


_PARTS: dict[str, Callable[[SipenItem], set[str]]] = {
    "hypothesis": lambda item: n_grams(item.hypothesis),
    "premise": lambda item: n_grams(item.premise),
    "form": _form,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--items",
        type=Path,
        help="JSONL as for --sipen-items (default: sozo's Japanese trial set)",
    )
    options = parser.parse_args()
    rows = []
    for name, means in shortcuts(
        read_items(options.items) if options.items else trial_items()
    ).items():
        cells = {part: Cell(replace(mean, n=0), SHARE) for part, mean in means.items()}
        if cells:
            rows.append({"items": name, **cells})
    print(markdown(tabulate("", rows)))


if __name__ == "__main__":
    main()
