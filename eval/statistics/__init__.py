"""What the numbers are worth: intervals, comparisons and correlations.

One rule holds everywhere: what cannot be known is None with a `reason`, never a number. One value has no interval,
equal values have no correlation, NaN has no mean. What is drawn at random is a function of the values, their order and
`seed`.
"""

from eval.statistics.bootstrap import MeanInterval, mean_interval
from eval.statistics.correlation import Correlation, correlate_models, pearson
from eval.statistics.holm import holm
from eval.statistics.independent import IndependentComparison, compare_independent
from eval.statistics.paired import PairedComparison, compare_paired

__all__ = [
    "Correlation",
    "IndependentComparison",
    "MeanInterval",
    "PairedComparison",
    "compare_independent",
    "compare_paired",
    "correlate_models",
    "holm",
    "mean_interval",
    "pearson",
]
