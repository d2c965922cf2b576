"""Every finding of thirteen reports, frozen: who moves code moves no number.

    python tests/frozen/test_frozen_findings.py      # what is computed now becomes what is frozen; say in the commit why

Numbers are equal to 1e-9 of their size; gains by a second encoder, whose centred vectors are in single precision, to
1e-6. The table of findings is all that any printer shows (test_one_fact.py).
"""

import gzip
import io
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

from sozo.eval.evaluated import find_evaluated
from sozo.eval.findings import findings, frame
from sozo.scoring.second_encoder import SecondEncoder

HERE = Path(__file__).parent
FROZEN = HERE / "findings.csv.gz"
KEY = ["report", "model", "base", "measure"]


def computed(folder):
    """The rows of every report, below each other, as the file has them."""
    from frozen_runs import (  # which needs what lies in tests/helpers
        NOUNS,
        SECOND,
        reports,
    )

    tables = []
    with patch("sozo.scoring.second_encoder.make_encoder", lambda name, **_: SECOND):
        for name, make in reports(folder).items():
            report = make()
            second = SecondEncoder("second", NOUNS) if report.second else None
            tables.append(
                frame(
                    findings(find_evaluated(report.places), report.base, second)
                ).assign(report=name)
            )
    return read(pd.concat(tables).to_csv(index=False))


def read(text):
    return pd.read_csv(io.StringIO(text))


def frozen(file=FROZEN):
    return read(gzip.decompress(file.read_bytes()).decode("utf-8"))


def unlike(now, then):
    """What came, went or changed, a line each."""
    now, then = (
        table.set_index(pd.MultiIndex.from_frame(table[KEY].fillna("")))
        for table in (now, then)
    )
    lines = [f"came: {key}" for key in now.index.difference(then.index)]
    lines += [f"went: {key}" for key in then.index.difference(now.index)]
    both = then.index.intersection(now.index)
    if not lines and not now.index.equals(then.index):
        lines.append("the rows are in another order")
    now, then = now.loc[both], then.loc[both]
    loose = then.measure.str.contains("gain|known_pairs")
    for column in then:
        one, other = now[column], then[column]
        if pd.api.types.is_numeric_dtype(other) and other.dtype != bool:
            one, other = one.to_numpy(np.float64), other.to_numpy(np.float64)
            close = np.where(loose, 1e-6, 1e-9)
            gap = np.abs(one - other)
            same = (gap <= close * (1 + np.abs(other))) | (
                np.isnan(one) & np.isnan(other)
            )
        else:
            same = (one.eq(other) | (one.isna() & other.isna())).to_numpy()
        lines += [
            f"{column} of {both[k]}: now {now[column].iloc[k]}, was {then[column].iloc[k]}"
            for k in np.flatnonzero(~same)
        ]
    return lines


def test_no_finding_has_changed(tmp_path):
    now, then = computed(tmp_path), frozen()
    assert list(now.columns) == list(then.columns)
    lines = unlike(now, then)
    anew = "If it is meant: python tests/frozen/test_frozen_findings.py"
    assert not lines, "\n".join([f"{len(lines)} differences", *lines[:40], anew])


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda then: then.assign(value=then.value * (1 + 1e-7)), "value of ("),
        (
            lambda then: then.assign(state=then.state.replace("higher", "lower")),
            "now lower, was higher",
        ),
        (lambda then: then[1:], "went: ("),
        (lambda then: pd.concat([then, then[:1].assign(model="new")]), "came: ("),
        (lambda then: then[::-1], "the rows are in another order"),
    ],
)
def test_a_change_is_seen_and_named(change, line, tmp_path, monkeypatch):
    monkeypatch.setattr("test_frozen_findings.computed", lambda _: change(frozen()))
    with pytest.raises(AssertionError, match="differences") as caught:
        test_no_finding_has_changed(tmp_path)
    assert line in str(caught.value)
    assert "python tests/frozen/test_frozen_findings.py" in str(caught.value)


def test_the_command_of_the_first_line_freezes(tmp_path):
    file = tmp_path / "findings.csv.gz"
    subprocess.run([sys.executable, __file__, str(file)], check=True)
    assert not unlike(frozen(file), frozen())


if __name__ == "__main__":
    sys.path.append(str(HERE.with_name("helpers")))
    with tempfile.TemporaryDirectory() as made:
        text = computed(Path(made)).to_csv(index=False)
    target = Path(sys.argv[1]) if sys.argv[1:] else FROZEN
    target.write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))
