"""How results of the word tasks are shown: every measure, and of cue DAT what it is with cues dealt anew."""

from collections.abc import Sequence

from sozo.scoring.measure import Measure
from sozo.tasks.finished import Finished
from sozo.tasks.view import FACTS, RunColumn, View, setting_of


class WordsView(View[Finished]):
    """The measures of any task, with the encoders."""

    def columns(self, measures: Sequence[Measure], runs: Sequence[Finished]) -> list[RunColumn]:
        return [
            *super().columns(measures, runs),
            setting_of("embedding_model", "words_encoder", FACTS),
            setting_of("second_encoder", "words_second", FACTS),
            setting_of("split", "words_split", FACTS),
        ]

    def notes(self, run: Finished) -> list[str]:
        if not (null := run.metrics.get("null")):
            return []
        ends = f"{null['low']:+.4f} to {null['high']:+.4f}"
        own = f"{null['mean']:+.4f}, p = {null['p']:.3f}"
        return [f"Null, cues dealt anew over the answers: 95% lie from {ends}; these answers have {own}."]
