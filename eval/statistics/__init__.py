"""What the numbers are worth: intervals, comparisons and correlations.

One rule holds everywhere: what cannot be known is None with a `reason`, never a number. One value has no interval,
equal values have no correlation, NaN has no mean. What is drawn at random is a function of the values, their order and
`seed`.
"""

from eval.statistics.bootstrap import mean_interval
from eval.statistics.comparison import compare_independent, compare_paired
from eval.statistics.correlation import correlate_models, holm, pearson

__all__ = ["compare_independent", "compare_paired", "correlate_models", "holm", "mean_interval", "pearson"]
