"""The frontier's curves: drawn once, and how far they go."""

import json
from dataclasses import replace

import pytest

from sozo.data.errors import UserError
from sozo.data.nouns import tiny_nouns
from sozo.studies import frontier
from sozo.studies.frontier import FrontierOptions, frontier_curves


def test_the_curves_are_drawn_once_and_end_where_two_starts_part(tmp_path, monkeypatch):
    nouns = tmp_path / "nouns.txt"
    nouns.write_text("\n".join(tiny_nouns()[:300]), "utf-8")
    options = FrontierOptions(nouns=str(nouns), num_lists=200)
    point, asked = frontier.frontier_point, []

    def counted(unit, strength, lists, seed):
        asked.append(strength)
        if len(asked) == 2:
            raise KeyboardInterrupt
        found = point(unit, strength, lists, seed)
        return replace(found, free=None) if strength == 300.0 else found

    monkeypatch.setattr(frontier, "frontier_point", counted)
    with pytest.raises(KeyboardInterrupt):
        frontier_curves(tmp_path / "out", options, [300.0, 0.0, 100.0, 500.0])
    run = frontier_curves(tmp_path / "out", options, [300.0, 0.0, 100.0, 500.0])
    # What was there is not drawn again, and beyond the end nothing is.
    assert asked == [0.0, 100.0, 100.0, 300.0]
    rows = json.loads((tmp_path / "out" / "frontier.json").read_text("utf-8"))["rows"]
    assert [row["strength"] for row in rows] == [0.0, 100.0, 300.0]
    random, further = rows[0]["free"], rows[1]["free"]
    assert random["different_words"] == pytest.approx(300, abs=1)
    assert further["mean"] > random["mean"] + 0.002
    assert further["perplexity"] < random["perplexity"]
    assert [row["free"] is None for row in rows] == [False, False, True]
    assert (
        "Free lists end before strength 300, where two starts do not agree within 0.0005."
        in run.page
    )
    assert frontier_curves(
        tmp_path / "out", options, [300.0, 0.0, 100.0, 500.0]
    ).finished_before
    with pytest.raises(UserError, match="needs 2 lists or more"):
        frontier_curves(tmp_path / "other", replace(options, num_lists=1))
