"""How often each printed interval holds the truth (benchmarks/coverage_table.py): the table is whole, and of this code."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import coverage_table


def test_the_table_has_every_interval_and_names_what_covers_otherwise_than_it_says():
    table = coverage_table.read()
    assert list(table) == coverage_table.keys()
    for (interval, world, n, level), (held, cause) in table.items():
        assert cause == coverage_table.cause(interval, world, n, level, held)
        enough = held >= coverage_table.least_of(level) and (
            held <= 0.975 or level != 0.95
        )
        assert bool(cause) != enough, (interval, world, n)
        # Where nothing is rare, every interval covers: what is less is a kind that the sample hardly holds.
        if world in ("normal", "skewed", "grouped", "half", "Zipf"):
            assert held >= coverage_table.least_of(level), (interval, world, n)


@pytest.mark.slow
@pytest.mark.parametrize("interval", coverage_table.ROWS)
def test_the_table_is_made_by_these_intervals(interval):
    """The first and the last cell of each interval; python benchmarks/coverage_table.py makes the whole table."""
    table = coverage_table.read()
    own = [key for key in table if key[0] == interval]
    for key in (own[0], own[-1]):
        assert coverage_table.cell(*key) == pytest.approx(table[key][0], abs=0.01)
