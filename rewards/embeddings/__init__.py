"""Word embeddings: encoders (sentence-transformers, OpenAI-compatible, packaged) and the cache of unit vectors."""

from rewards.embeddings.encoders import Encoder, OpenAIEncoder, SentenceTransformerEncoder, ginza_encoder
from rewards.embeddings.word_vectors import WordVectors

__all__ = ["Encoder", "OpenAIEncoder", "SentenceTransformerEncoder", "WordVectors", "make_encoder"]

DEFAULT_ENCODER = "ja-ginza"


def make_encoder(name: str = DEFAULT_ENCODER, *, revision: str | None = None, texts: bool = False) -> Encoder:
    """The encoder called `name`: `ja-ginza` (the packaged word vectors), `openai:NAME` (an OpenAI-compatible endpoint),
    or a sentence-transformers model (a hub id or a folder).

    Whole `texts` are encoded by all of them. `ja-ginza` then calls itself `ja-ginza-texts` and is good enough to try
    things out; the others silently cut what is longer than their window (a BERT's: 512 tokens).
    """
    if name == DEFAULT_ENCODER:
        return ginza_encoder(texts=texts)
    if name.startswith("openai:"):
        return OpenAIEncoder(name.removeprefix("openai:"))
    return SentenceTransformerEncoder(name, revision=revision)
