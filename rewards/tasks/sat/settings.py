"""What can be set about SAT: the stories, and the encoder of stories and rewrites."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from data.settings import setting
from data.stories import Story, load_stories
from rewards.embeddings import DEFAULT_ENCODER, make_encoder
from rewards.tasks.sat.score import SatScorer


@dataclass(frozen=True)
class SatSettings:
    """What a SAT score rests on."""

    stories: str | None = setting(None, "JSONL file of stories (default: the 113 packaged ones).", decides=False)
    sat_embedding_model: str = setting(
        DEFAULT_ENCODER, "Encoder of stories and rewrites (the paper: pkshatech/simcse-ja-bert-base-clcmlp)."
    )
    sat_embedding_revision: str | None = setting(None, "Hub revision of that encoder.")
    sat_embedding_cache: str | None = setting(None, "Folder of a disk cache of its vectors.", decides=False)

    def load_stories(self) -> tuple[Story, ...]:
        """The stories; their content decides a score, wherever they come from."""
        return load_stories(Path(self.stories) if self.stories else None)

    def scorer(self, stories: tuple[Story, ...]) -> SatScorer:
        """Load the encoder; see `make_encoder` for the errors."""
        encoder = make_encoder(self.sat_embedding_model, revision=self.sat_embedding_revision, texts=True)
        cache = Path(self.sat_embedding_cache) if self.sat_embedding_cache else None
        return SatScorer(encoder, stories, cache_dir=cache)
