"""How results of the word tasks are shown: every measure, and of cue DAT what it is with cues dealt anew."""

from sozo.tasks.finished import Finished
from sozo.tasks.view import View


class WordsView(View[Finished]):
    """The measures of any task."""

    def notes(self, run: Finished) -> list[str]:
        if not (null := run.metrics.get("null")):
            return []
        ends = f"{null['low']:+.4f} to {null['high']:+.4f}"
        own = f"{null['mean']:+.4f}, p = {null['p']:.3f}"
        return [f"Null, cues dealt anew over the answers: 95% lie from {ends}; these answers have {own}."]
