"""Correlations between the benchmarks over the models of finished runs, and of the judge with people."""
