"""Creativity training for language models, Japanese first: `sozo.rewards` is what most users import."""

from pathlib import Path

__version__ = "0.1.0"

if Path(__file__).with_name("data").is_file():
    raise ImportError(
        f"{Path(__file__).with_name('data')} must be a link to a folder and is a plain file (a ZIP, or a clone without "
        "links): git config core.symlinks true && rm -r src/sozo && git checkout -- src/sozo, "
        "or install sozo from git+URL or from the tar.gz"
    )
