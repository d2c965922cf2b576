"""A judge for each expert, for readers: tables in Markdown, and what they say."""

from collections.abc import Iterator, Sequence

from sozo.data.markdown import bullets, number, plain, table
from sozo.eval.experts.alphas import Value
from sozo.eval.experts.analysis import Result, Row, own_name
from sozo.eval.experts.asks import Votes
from sozo.eval.experts.reasons import Reasons

_ABOUT = """\
Krippendorff's alpha ({level}) between an expert's scores and a judge's predictions of them. *Within*: alpha for each
expert, then the mean, with Student's interval over experts. *Pooled*: all experts' ratings at once, with a jackknife
over experts; a prediction that only knows how strict each expert is has agreement there that is no agreement about
ideas. The last rows ask nobody: they repeat the median of the expert's own examples, or of all others, or move the
zero-shot prediction by how far the expert is from it. Votes below a confidence of {min_confidence} do not count.
"""
_ABOUT_DIFFERENCES = """\
On the ratings that both predict: the mean over experts of the difference of alphas within them. p: how often a
difference as large comes of swapping the two predictions within ratings; corrected for this table (Holm).
"""
_ABOUT_REASONS = """\
Figure 3: over pairs of experts, Pearson's r of how far they agree (mean alpha) with how alike the reasons of their
judges are (mean cosine). p is by exchanging experts (Mantel), since pairs that share an expert are not independent.
Without examples two experts' prompts are the same, and so are the reasons.
"""


def experts_page(result: Result, votes: Votes, notes: Sequence[str], alike: Sequence[Reasons] = ()) -> str:
    """The page of a run; `notes` say what was asked."""
    parts = ["# A judge for each expert\n", bullets(plain(note) for note in [*notes, *_bill(votes)])]
    parts += ["## What it says\n", bullets(plain(line) for line in verdicts(result)) or "Nothing yet.\n"]
    parts += ["## Agreement with the experts\n", _ABOUT.format(**{k: getattr(result, k) for k in _NAMES})]
    headings = ("Criterion", "Prediction", "Alpha within", "Experts", "Alpha pooled", "n of N", "Same score")
    shares = ("At most 1 apart", "Mean error", "Votes kept", "Unreadable")
    parts.append(table((*headings, *shares), [_cells(row) for row in result.rows]))
    rows = []
    for one in result.compared:
        gap = one.within
        of = f"{gap.n:,} of {gap.of:,}"
        numbers = [
            _interval(gap.mean, gap.low, gap.high, "+"),
            number(gap.p, 4),
            number(gap.p_holm, 4),
            f"{gap.experts}",
        ]
        rows.append([plain(one.criterion), plain(f"{one.first} - {one.second}"), *numbers, of])
    if rows:
        columns = ("Criterion", "Difference", "Alpha within", "p", "p (Holm)", "Experts", "n of N")
        parts += ["## Differences\n", _ABOUT_DIFFERENCES, table(columns, rows)]
    if alike:
        found = [
            [plain(one.condition), f"{len(one.points):,}", number(one.r), number(one.p, 4), one.reason or ""]
            for one in alike
        ]
        parts += ["## Reasons\n", _ABOUT_REASONS, table(("Prediction", "Pairs", "r", "p", "Why not"), found)]
    return "\n".join(parts)


_NAMES = ("level", "min_confidence")


def verdicts(result: Result) -> Iterator[str]:
    """In words: whether the expert's own examples taught more than a habit, and where pooling hides that."""
    for one in result.compared:
        if not (one.second.startswith("own median") and one.second == own_name(_most(result))):
            continue
        gap = one.within
        if gap.mean is None:
            yield f"{one.criterion}: too few ratings in common to say whether {one.first} beats the dummy {one.second}."
        elif gap.low is not None and gap.low > 0:
            yield f"{one.criterion}: {one.first} beats the dummy {one.second} within experts: more than a habit."
        else:
            yield (
                f"{one.criterion}: it is not shown that {one.first} beats the dummy {one.second} within experts: "
                "it may have learned a habit and no more."
            )
    for criterion in dict.fromkeys(row.criterion for row in result.rows):
        dummy = result.row(criterion, own_name(_most(result)))
        if dummy is None or dummy.pooled.alpha is None:
            continue
        hidden = []
        for row in result.rows:
            if row.criterion == criterion and not row.dummy and row.pooled.alpha is not None:
                better = (row.within.alpha or 0) > (dummy.within.alpha or 0)
                if dummy.pooled.alpha > row.pooled.alpha and better:
                    hidden.append(f"{row.name} ({row.pooled.alpha:.2f}; within {number(row.within.alpha, 2)})")
        if hidden:
            yield (
                f"{criterion}: pooled over experts, the dummy {dummy.name} ({dummy.pooled.alpha:.2f}; within "
                f"{number(dummy.within.alpha, 2)}) beats {', '.join(hidden)}, and within experts it beats none of "
                "these: a pooled alpha pays for knowing how strict an expert is."
            )


def _most(result: Result) -> int:
    return max(
        (int(row.name.rpartition(" ")[2]) for row in result.rows if row.name.startswith("own median")), default=1
    )


def _cells(row: Row) -> list[str]:
    shares = [_share(value) for value in (row.exact, row.within_one)]
    votes = [_share(value) for value in (row.kept, row.unparseable)]
    name = plain(row.name) + (" (dummy)" if row.dummy else "")
    alphas = [_alpha(row.within), f"{row.within.experts}", _alpha(row.pooled)]
    return [plain(row.criterion), name, *alphas, f"{row.n:,} of {row.of:,}", *shares, number(row.error, 2), *votes]


def _alpha(value: Value) -> str:
    return _interval(value.alpha, value.low, value.high)


def _interval(mean: float | None, low: float | None, high: float | None, sign: str = "") -> str:
    if mean is None:
        return "–"
    return f"{mean:{sign}.2f}" + ("" if low is None or high is None else f" ({low:{sign}.2f} to {high:{sign}.2f})")


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _bill(votes: Votes) -> Iterator[str]:
    cost = f"{votes.unknown_cost:,} replies of unknown cost" if votes.unknown_cost else f"cost {votes.cost:.4f}"
    yield f"The judge's tokens: {votes.prompt_tokens:,} in, {votes.completion_tokens:,} out, {cost}."
    for name, statuses in votes.statuses.items():
        shown = votes.examples[name] / max(1, statuses.total())
        counts = ", ".join(f"{status} {n:,}" for status, n in sorted(statuses.items()))
        yield f"{name}: {counts}; {shown:.1f} examples shown on average."
    if votes.stopped:
        yield f"Not finished: {votes.stopped}."
