"""What the numbers are worth. What cannot be known is None with a `reason`, never a number: one value has no interval,
equal values have no correlation, NaN has no mean. What is random is a function of the values, their order and `seed`.
"""

from eval.statistics.comparison import compare_independent, compare_paired
from eval.statistics.correlation import correlate_models, pearson
from eval.statistics.means import mean_interval
from rewards.proportions import holm

__all__ = ["compare_independent", "compare_paired", "correlate_models", "holm", "mean_interval", "pearson"]
