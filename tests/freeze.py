"""The freeze: every number of thirteen reports and a sheet of people's lists, as rows.

    python tests/freeze.py           # what differs from tests/data/freeze.csv.gz; exit status 1 if anything does
    python tests/freeze.py --write   # what is computed now becomes what is frozen

Who rebuilds what stands between a run's answers and a printed number runs it at each stop. A row says of which report
and model, from which base, of which task, measure and part (mean, difference, low, high, n, N, p) a value is, and
`where` it was found. Below all printers: `answers`, `items`, `estimate`, `difference`, `over seeds`, `gain`, `outcome`,
`statistics`. In what was written: `metrics`, `json`, `csv`, `latex`, `page`, `picture`, `reader`, `terminal`, `wandb`,
`card`, `people`. A number that is printed in five places stands in five rows, so that each can be seen to go or to
change.

Numbers are equal to 1e-9 of their size; gains by a second encoder, whose centred vectors are in single precision, to
1e-6. Printed numbers are equal digit for digit. A row that is gone, and whose value stands elsewhere in the same report
of the same model, counts as moved (its new place is listed as new): names may change while numbers do not. It differs
all the same until `--write`, and whoever writes says in the commit what changed its meaning.

This holds until reports are rebuilt from one table. Then delete it with frozen_runs.py (the inputs), frozen_numbers.py
and frozen_prints.py (where numbers are found), test_freeze.py and the data.
"""

import argparse
import csv
import gzip
import io
import math
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

HERE = Path(__file__).parent
FROZEN = HERE / "data" / "freeze.csv.gz"
HEADINGS = ("report", "where", "model", "base", "task", "measure", "what", "by", "value")
SHOWN = 40  # differences that are printed of each report
CENTRED = ("gain", "dat/pairing", "second encoder")  # what names numbers by a second encoder, on whatever output


def computed() -> dict[tuple[str, ...], str]:
    """Every row now: all columns but the value -> the value; rows of one name are numbered."""
    from frozen_numbers import rows

    found, times = {}, Counter()
    with tempfile.TemporaryDirectory() as folder:
        for *names, value in rows(Path(folder)):
            key = tuple(map(str, names))
            times[key] += 1
            if times[key] > 1:
                key = (*key[:-2], f"{key[-2]} ({times[key]})", key[-1])
            found[key] = value if isinstance(value, str) else repr(float(value))
    return found


def frozen(path: Path = FROZEN) -> dict[tuple[str, ...], str]:
    """Every row that was written."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        headings, *lines = csv.reader(file)
    assert tuple(headings) == HEADINGS
    return {tuple(names): value for *names, value in lines}


def write(rows: Mapping[tuple[str, ...], str], path: Path = FROZEN) -> None:
    """Sorted, and without the time of writing, so that equal rows are equal bytes."""
    text = io.StringIO(newline="")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(HEADINGS)
    lines.writerows((*names, value) for names, value in sorted(rows.items()))
    path.write_bytes(gzip.compress(text.getvalue().encode("utf-8"), 9, mtime=0))


def equal(one: str, other: str, key: tuple[str, ...]) -> bool:
    """Whether two values of a row are the same number, or the same printed text."""
    name = " ".join(key).lower()
    relative, absolute = (1e-6, 1e-6) if any(word in name for word in CENTRED) else (1e-9, 1e-12)
    try:
        return math.isclose(float(one), float(other), rel_tol=relative, abs_tol=absolute)
    except ValueError:
        return one == other


def digits(value: str) -> str:
    """A number in nine digits, whatever rounding its last ones are of; a printed text as it is."""
    try:
        return f"{float(value):.9g}"
    except ValueError:
        return value


def differences(old: Mapping[tuple[str, ...], str], new: Mapping[tuple[str, ...], str]) -> Iterator[tuple[str, ...]]:
    """Kind (changed, moved, gone, new), report, where, and what a person reads of each row that is not as it was."""
    elsewhere = defaultdict(list)  # rows with new names, each of which can be one that moved
    for key in sorted(new.keys() - old.keys(), reverse=True):
        elsewhere[key[0], key[2], digits(new[key])].append(key)
    for key in sorted(old.keys() | new.keys()):
        report, where, name = key[0], key[1], ", ".join(filter(None, key[1:]))
        if key in old and key in new:
            if not equal(old[key], new[key], key):
                yield "changed", report, where, f"{name}: {old[key]} -> {new[key]}"
        elif key in new:
            yield "new", report, where, f"{name}: {new[key]}"
        elif places := elsewhere[report, key[2], digits(old[key])]:
            yield "moved", report, where, f"{name}: {old[key]} now in {', '.join(filter(None, places.pop()[1:]))}"
        else:
            yield "gone", report, where, f"{name}: {old[key]}"


def print_differences(found: Iterable[tuple[str, ...]], rows: int) -> None:
    """Each difference, of each report the first few, and how many of which kind there are where."""
    counts, shown = Counter(), Counter()
    for kind, report, where, text in found:
        counts[report, where, kind] += 1
        shown[report, kind] += 1
        if shown[report, kind] <= SHOWN:
            print(f"{kind:8}{report}: {text}")
        elif shown[report, kind] == SHOWN + 1:
            print(f"{kind:8}{report}: ... (the rest is counted below)")
    for (report, where, kind), n in sorted(counts.items()):
        print(f"{n:6} {kind:8} {report:18} {where}")
    print(f"{sum(counts.values())} of {rows} rows differ")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="freeze what is computed now")
    options = parser.parse_args()
    now, before = computed(), frozen() if FROZEN.is_file() else {}
    found = list(differences(before, now))
    print_differences(found, len(before | now))
    if options.write:
        write(now)
        print(f"{FROZEN.relative_to(HERE.parent)}: {len(now)} rows, {FROZEN.stat().st_size} bytes")
        return 0
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
