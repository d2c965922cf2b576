"""Sampling, scoring and reporting: what a model's responses are worth. Never imports training."""
