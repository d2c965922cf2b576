"""What the numbers are worth. What cannot be known is None with a `reason`, never a number: one value has no interval,
equal values have no correlation, NaN has no mean. What is random is a function of the values, their order and `seed`.
"""

from sozo.scoring.statistics.comparison import compare_independent, compare_paired
from sozo.scoring.statistics.means import mean_interval
from sozo.scoring.statistics.proportions import holm

__all__ = ["compare_independent", "compare_paired", "holm", "mean_interval"]
