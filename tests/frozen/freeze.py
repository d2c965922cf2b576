"""What must not move, computed by one program and kept beside it: who moves code moves no number.

    python tests/frozen/freeze.py [PART ...]   # what is computed now becomes what is frozen; say in the commit why

A part is a function of a folder that it may fill; it returns names with values that JSON can write. Each is kept as
`PART.jsonl.gz`, a line a name. Texts are equal; numbers to a millionth of their size, since encoders add in another
order on another processor. Inputs are drawn by Python's `random`, which gives the same everywhere.
"""

import gzip
import json
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from math import isclose
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CLOSE = 1e-6
MOST_SHOWN = 40
Values = dict[str, Any]


REPORTS = (
    *("dat", "dat-seeds", "dat-seeds-paired", "dat-encoders", "dat-olson"),
    *("jcq", "jcq-judges", "jcq-trial", "sat", "sipen", "pbig", "hivemind", "mixed"),
)
# Part -> the module that computes it, which is imported when the part is asked for.
PARTS = {
    **{f"report-{name}": "frozen_reports" for name in REPORTS},
    **dict.fromkeys(("scores", "sentences", "general"), "frozen_answers"),
    **dict.fromkeys(("rewards", "doors"), "frozen_rewards"),
    **dict.fromkeys(("selections", "plans", "weights"), "frozen_training"),
    **dict.fromkeys(
        ("table11", "agreement", "correlations", "experts"), "frozen_studies"
    ),
    **dict.fromkeys(("bills", "judges"), "frozen_servers"),
    **dict.fromkeys(("sheets-0", "sheets-1", "sheets-2", "form"), "frozen_people"),
}


def computed(name: str, folder: Path) -> Values:
    """A part as a file would give it back."""
    part = import_module(PARTS[name]).PARTS[name]
    return {key: json.loads(json.dumps(value)) for key, value in part(folder).items()}


def read(name: str) -> Values:
    """What is frozen of a part."""
    lines = gzip.decompress((HERE / f"{name}.jsonl.gz").read_bytes()).decode("utf-8")
    return dict(json.loads(line) for line in lines.splitlines())


def write(name: str, values: Values) -> int:
    """Freeze a part; how many bytes it takes."""
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in values.items())
    packed = gzip.compress("".join(lines).encode("utf-8"), 9, mtime=0)
    return (HERE / f"{name}.jsonl.gz").write_bytes(packed)


def unlike(now: Values, then: Values) -> list[str]:
    """What came, went or changed, a line each."""
    lines = [f"came: {name}" for name in now if name not in then]
    lines += [f"went: {name}" for name in then if name not in now]
    if not lines and list(now) != list(then):
        lines.append("the names are in another order")
    for name in then.keys() & now.keys():
        lines += differences(name, now[name], then[name])
    return sorted(lines)


def differences(where: str, now: Any, then: Any) -> Iterator[str]:
    """Where two values differ, as deep as they differ."""
    if isinstance(now, dict) and isinstance(then, dict) and now.keys() == then.keys():
        for key in then:
            yield from differences(f"{where} / {key}", now[key], then[key])
    elif isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        for k, (one, other) in enumerate(zip(now, then, strict=True)):
            yield from differences(f"{where} / {k}", one, other)
    elif not same(now, then):
        yield f"{where}: now {now!r}, was {then!r}"


def same(now: Any, then: Any) -> bool:
    """Whether two values are one; NaN is NaN."""
    if isinstance(now, float) and isinstance(then, int | float):
        return isclose(now, then, rel_tol=CLOSE, abs_tol=CLOSE) or now != now != then
    return type(now) is type(then) and now == then


def files_of(folder: Path, *, but: tuple[str, ...] = ()) -> Values:
    """What a command left, file by file; `but` are the names of those that hold a time or a picture."""
    values: Values = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".json" and path.name not in but:
            values[name] = json.loads(path.read_text("utf-8"))
        elif path.suffix in (".csv", ".md", ".tex", ".jsonl") and path.name not in but:
            values[name] = path.read_bytes().decode("utf-8-sig").splitlines()
    return values


def check(name: str, now: Values) -> None:
    """AssertionError with what differs and how to freeze it anew."""
    lines = unlike(now, read(name))
    anew = f"If it is meant: python tests/frozen/freeze.py {name}"
    counted = f"{len(lines)} differences"
    assert not lines, "\n".join([counted, *lines[:MOST_SHOWN], anew])


def main(names: list[str]) -> None:
    """Freeze these parts, or all."""
    for folder in ("helpers", ".", "../recipes", "../src"):
        sys.path.append(str(HERE.parent / folder))
    for name in names or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            values = computed(name, Path(folder))
        print(f"{name}: {len(values):,} values, {write(name, values):,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
