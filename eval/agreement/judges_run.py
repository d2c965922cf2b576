"""What `sozo agreement RUNS` does where a judge scored the same answers in all of them."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from sozo.data.errors import UserError
from sozo.data.markdown import bullets, plain, table
from sozo.data.record import write_json, write_whole
from sozo.data.run_folder import RunFolder
from sozo.eval.agreement.judges import Agreements, Judged, among_judges, retests
from sozo.eval.agreement.ratings_page import alpha_cells
from sozo.eval.agreement.ratings_run import FILES, PAGE, VALUES, check_level
from sozo.eval.terminal import PageRun

_ABOUT = """\
Krippendorff's alpha ({level}), and the shares of answers that got the same score and scores at most 1 apart (of
several judgings the mean over pairs). *Second - first* is the difference of two means on the answers that both scored.
Judgings are one judge's if they share model, prompt and settings but for the seed. Judges that agree can still both be
wrong: only people's ratings tell (`sozo correlate --ratings`).
"""
_HEADINGS = ("Criterion", "Alpha", "95% interval", "Answers", "Scores", "Same score", "At most 1 apart")


def agree_judges(judged: Sequence[Judged], output: Path, *, level: str = "ordinal") -> PageRun:
    """Agreement of one judge's repeated judgings, and of several judges, on the same answers (`find_judged`)."""
    check_level(level)
    if len(judged) < 2:
        raise UserError("agreement of judges needs two judgings of the same answers; give two folders or more")
    names = [one.name for one in judged]
    if len(set(names)) < len(names):
        raise UserError(f"{names[0]} comes twice; name each folder once: NAME=DIR")
    answers = [{key[:2] for key in one.scores} for one in judged]
    if not any(a & b for k, a in enumerate(answers) for b in answers[:k]):
        raise UserError(f"{', '.join(names)}: no answer was judged twice; give judgings of the same answers")
    digests = {one.name: hashlib.sha256(repr(sorted(one.scores.items())).encode()).hexdigest() for one in judged}
    settings = {"task": "agreement of judges", "judged": digests, "judges": [o.judge for o in judged], "level": level}
    folder = RunFolder(output, settings)
    if folder.metrics() is not None and (output / PAGE).is_file():
        return PageRun(output, (output / PAGE).read_text("utf-8"), FILES, True)
    folder.start({}, {})
    again, judges = retests(judged, level), among_judges(judged, level)
    page = judges_page(judged, again, judges, level)
    values = {"level": level, "retests": [one.to_json() for one in again], "judges": [one.to_json() for one in judges]}
    write_json(output / VALUES, values)
    write_whole(output / PAGE, page.encode())
    folder.finish(values)
    return PageRun(output, page, FILES, False)


def judges_page(judged: Sequence[Judged], again: Sequence[Agreements], judges: Sequence[Agreements], level: str) -> str:
    """The page of some judgings."""
    parts = [f"# How far judges of the same {judged[0].task.upper()} answers agree\n"]
    parts.append(bullets(f"{plain(one.name)}: {plain(one.judge_name)}, {_answers(one)} answers" for one in judged))
    parts.append(_ABOUT.format(level=level))
    for heading, tables in (("The same judge again", again), ("Different judges", judges)):
        for one in tables:
            parts += [f"## {heading}: {plain(', '.join(one.between))}\n", _table(one)]
    return "\n".join(parts)


def _answers(one: Judged) -> str:
    return f"{len({key[:2] for key in one.scores}):,}"


def _table(agreements: Agreements) -> str:
    two = len(agreements.between) == 2
    rows = []
    for row in agreements.rows:
        alpha, interval, units, scores, _, reason = alpha_cells(row.alpha)
        shares = ["–" if share is None else f"{share:.1%}" for share in (row.exact, row.within_one)]
        gap = ["–" if row.difference is None else f"{row.difference:+.2f}"] if two else []
        rows.append([plain(row.criterion), alpha, interval, units, scores, *shares, *gap, reason])
    return table((*_HEADINGS, *(("Second - first",) if two else ()), "Why not"), rows)
