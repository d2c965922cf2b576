"""Correlations: the papers' from their printed digits (`--published`), and finished runs' (`correlate DIR...`)."""
