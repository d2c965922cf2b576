"""Sampling, scoring and reporting: what a model's responses are worth. Never imports training."""

if __name__ != "sozo.eval":
    raise ImportError(f"{__name__} is a folder of sozo's repository; import it as sozo.eval")
