"""What an evaluation found as a page for people, and what any such page is made of: charts, templates.

A page holds everything it needs and loads nothing. What a model wrote is escaped wherever it stands.
"""

from importlib.resources import files


def source(name: str) -> str:
    """The text of a file beside this one."""
    return files("sozo.eval.report").joinpath(name).read_text("utf-8")
