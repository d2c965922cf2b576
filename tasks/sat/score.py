"""SatScorer: stories and rewrites in, scored rows out (paper, section 3.3), and what can be set about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sozo.data.schema import utf8_safe
from sozo.data.settings import rare_setting, setting
from sozo.scoring.distance import paired_distance
from sozo.scoring.embeddings import (
    DEFAULT_ENCODER,
    Encoder,
    WordVectors,
    make_encoder,
)
from sozo.scoring.endpoint.profile import HELP
from sozo.scoring.final_text import final_text, says_anything
from sozo.tasks.sat.compliance import LENGTH_BAND
from sozo.tasks.sat.stories import SatReason, Story, load_stories

# Five times what is asked for. A tokenizer makes at most one token of a byte and a character has at most four, so that
# even the oddest text fits the 8,191 tokens of an endpoint; a BERT such as the paper's encoder reads 512 tokens.
TEXT_LIMIT = 2000


class SatScorer:
    """Scores rewrites of stories.

    The score of a rewrite is 1 - cos(u, v) in [0, 2], u the embedding of the story and v that of the rewrite. Without a
    score are: an empty rewrite, one with half a reasoning block, one for which (or whose story) the encoder gives a
    zero or non-finite vector. Each encoder has a scale of its own and cuts what is longer than its window; at most the
    first 2,000 characters are embedded. `cache_dir` is the folder of a disk cache of vectors; None keeps none.

    >>> scorer, story = SatScorer(make_encoder("ja-ginza", texts=True)), "漁師が浜辺で亀を助けた。"
    >>> scorer.compare([story, story], ["漁師が浜辺で亀を助けた。", " "])
    [(0.0, None), (None, 'no_text')]
    """

    def __init__(self, encoder: Encoder, cache_dir: Path | None = None) -> None:
        self._cache_dir = cache_dir
        self.vectors = WordVectors(encoder, cache_dir)

    def forget(self, most: int) -> None:
        """Drop the vectors in memory if there are more than `most`."""
        if len(self.vectors.matrix) > most:
            self.vectors = WordVectors(self.vectors.encoder, self._cache_dir)

    def describe(self) -> dict[str, Any]:
        """What a results file must record to say how a score came about."""
        return {
            **self.vectors.describe(),
            "text_limit": TEXT_LIMIT,
            "length_band": list(LENGTH_BAND),
        }

    def compare(
        self, stories: Sequence[str], texts: Sequence[str]
    ) -> list[tuple[float | None, str | None]]:
        """The distance of each text from the story beside it, or the reason (`SatReason`) why there is none."""
        counted = [what_counts(text) for text in texts]
        # Stories first: should no rewrite get a vector, it is they that tell odd rewrites from a broken encoder.
        of_stories = self._rows(stories)
        of_texts = self._rows(
            [text if reason is None else None for text, reason in counted]
        )
        good = (of_stories >= 0) & (of_texts >= 0)
        distances = np.full(len(texts), np.nan)
        distances[good] = paired_distance(
            self.vectors.matrix, of_stories[good], of_texts[good]
        )
        no_vector = [
            SatReason.STORY_NO_VECTOR if row < 0 else SatReason.NO_VECTOR
            for row in of_stories
        ]
        return [
            (float(distances[k]), None)
            if good[k]
            else (None, str(reason or no_vector[k]))
            for k, (_, reason) in enumerate(counted)
        ]

    def _rows(self, texts: Sequence[str | None]) -> np.ndarray:
        """Rows in the vectors' matrix; -1 without a vector or a text."""
        wanted = [utf8_safe(text)[:TEXT_LIMIT] for text in texts if text is not None]
        rows = iter(self.vectors.rows(wanted))
        return np.array(
            [-1 if text is None else next(rows) for text in texts], np.int64
        )


def what_counts(text: str) -> tuple[str, SatReason | None]:
    """What of a model's text is its rewrite: its `final_text`. One without any letter or digit is none.

    >>> what_counts("<think>亀を車に</think> 昔々"), what_counts("<think>亀を"), what_counts("。")
    (('昔々', None), ('', <SatReason.NO_TEXT: 'no_text'>), ('', <SatReason.NO_TEXT: 'no_text'>))
    """
    answer = final_text(text) or ""
    # Some encoders give a vector to nothing at all.
    return (answer, None) if says_anything(answer) else ("", SatReason.NO_TEXT)


@dataclass(frozen=True)
class SatSettings:
    """What a SAT score rests on."""

    stories: str | None = setting(
        None,
        "JSONL file of stories (default: the 113 packaged ones).",
        affects_result=False,
    )
    sat_embedding_model: str = setting(
        DEFAULT_ENCODER,
        "Encoder of stories and rewrites (the paper: pkshatech/simcse-ja-bert-base-clcmlp).",
    )
    sat_embedding_revision: str | None = rare_setting(
        None, "Hub revision of that encoder."
    )
    sat_embedding_endpoint: str | None = rare_setting(
        None, f"How its endpoint is spoken to: {HELP}.", affects_result=False
    )
    sat_embedding_cache: str | None = rare_setting(
        None, "Folder of a disk cache of its vectors.", affects_result=False
    )

    def load_stories(self) -> tuple[Story, ...]:
        """The stories; their content decides a score, wherever they come from."""
        return load_stories(Path(self.stories) if self.stories else None)

    def scorer(self) -> SatScorer:
        """Load the encoder; see `make_encoder` for the errors."""
        options: dict[str, Any] = {
            "endpoint": self.sat_embedding_endpoint,
            "texts": True,
        }
        encoder = make_encoder(
            self.sat_embedding_model, revision=self.sat_embedding_revision, **options
        )
        cache = Path(self.sat_embedding_cache) if self.sat_embedding_cache else None
        return SatScorer(encoder, cache)
