"""Every finding of thirteen reports, frozen: who moves code moves no number.

    python tests/suite/test_frozen_findings.py      # what is computed now becomes what is frozen; say in the commit why

Numbers are equal to 1e-9 of their size; gains by a second encoder, whose centred vectors are in single precision, to
1e-6. The table of findings is all that any printer shows (test_one_fact.py).
"""

import gzip
import io
import tempfile
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

from frozen_runs import NOUNS, SECOND, reports
from sozo.eval.evaluated import find_evaluated
from sozo.eval.findings import findings, frame
from sozo.scoring.second_encoder import SecondEncoder

FROZEN = Path(__file__).parents[1] / "data" / "findings.csv.gz"


def computed(folder):
    """The rows of every report, below each other, as the file has them."""
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


def test_no_finding_has_changed(tmp_path):
    now, then = (
        computed(tmp_path),
        read(gzip.decompress(FROZEN.read_bytes()).decode("utf-8")),
    )
    assert list(now.columns) == list(then.columns)
    assert len(now) == len(then)
    loose = then.measure.str.contains("gain|known_pairs")
    for column in then:
        if pd.api.types.is_numeric_dtype(then[column]) and then[column].dtype != bool:
            for rows, close in ((loose, 1e-6), (~loose, 1e-9)):
                one, other = (
                    table.loc[rows, column].to_numpy(np.float64)
                    for table in (now, then)
                )
                np.testing.assert_allclose(
                    one, other, rtol=close, atol=close, err_msg=column
                )
        else:
            changed = now[column].fillna("").ne(then[column].fillna(""))
            assert not changed.any(), (column, now[changed].head(5).to_dict("records"))


def test_a_number_that_changed_is_seen(tmp_path, monkeypatch):
    then = read(gzip.decompress(FROZEN.read_bytes()).decode("utf-8"))
    for change in (
        {"value": then.value * (1 + 1e-7)},
        {"state": then.state.replace("higher", "lower")},
    ):
        monkeypatch.setattr(
            "test_frozen_findings.computed",
            lambda _, change=change: then.assign(**change),
        )
        with pytest.raises(AssertionError):
            test_no_finding_has_changed(tmp_path)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        FROZEN.write_bytes(
            gzip.compress(
                computed(Path(made)).to_csv(index=False).encode("utf-8"), 9, mtime=0
            )
        )
