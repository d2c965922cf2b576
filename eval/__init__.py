"""Sampling, scoring and reporting: what a model's answers are worth. Never imports training."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

if __name__ != "sozo.eval":
    raise ImportError(
        f"{__name__} is a folder of sozo's repository; import it as sozo.eval"
    )


def frame(
    runs: Sequence[str],
    base: str | None = None,
    second_encoder: str | None = None,
) -> "pd.DataFrame":
    """Every finding about finished runs as a pandas data frame, a row a number, as `sozo report` has them.

    `runs` are folders, however deep: `DIR`, or `NAME=DIR`. docs/reports.md tells its columns, with their units.

        table = frame(["runs/eval"], base="before")
        table.query("first_screen and state == 'higher'")[["model", "measure", "value"]]
    """
    from sozo.eval import findings
    from sozo.eval.evaluated import find_evaluated
    from sozo.scoring.second_encoder import SecondEncoder

    second = SecondEncoder.if_named(second_encoder)
    return findings.frame(findings.findings(find_evaluated(runs), base, second))
