"""Word embeddings: encoders (sentence-transformers, OpenAI-compatible, packaged) and the cache of unit vectors."""

from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.scoring.embeddings.categories import CategoryEncoder
from sozo.scoring.embeddings.derived import (
    CentredEncoder,
    ConsensusEncoder,
    consensus_weights,
)
from sozo.scoring.embeddings.e5 import E5Encoder
from sozo.scoring.embeddings.encoders import (
    Encoder,
    OpenAIEncoder,
    SentenceTransformerEncoder,
)
from sozo.scoring.embeddings.ginza import GinzaEncoder
from sozo.scoring.embeddings.minilm import MiniLmEncoder
from sozo.scoring.embeddings.prompts import BETWEEN_PARTS, split_prompt
from sozo.scoring.embeddings.vector_file import VectorFile
from sozo.scoring.embeddings.word_vectors import WordVectors
from sozo.scoring.endpoint.profile import read_profile
from sozo.scoring.languages import LANGUAGES

__all__ = [
    "Encoder",
    "OpenAIEncoder",
    "SentenceTransformerEncoder",
    "WordVectors",
    "make_encoder",
]

DEFAULT_ENCODER = "ja-ginza"
# The cosine from which two texts count as alike, chosen on pairs in the encoder's own language (benchmarks/README.md).
ALIKE_FROM = {
    "e5": 0.92,
    "minilm": 0.75,
    DEFAULT_ENCODER: 0.72,
    f"{DEFAULT_ENCODER}-texts": 0.72,
}
_CENTRED, _FILE = "centred:", "vectors:"


def make_encoder(
    name: str = DEFAULT_ENCODER,
    *,
    revision: str | None = None,
    texts: bool = False,
    cache: Path | None = None,
    endpoint: Any = None,
    language: str = "ja",
) -> Encoder:
    """The encoder called `name`: a sentence-transformers model (a hub id or a folder, at `revision`), `openai:NAME` (an
    OpenAI-compatible endpoint), or one that is packaged: `ja-ginza`, `e5`, `minilm` (English), and `categories`, which
    are people's labels. `vectors:FILE` are word vectors out of a text file.

    Of words, `centred:NAME` is NAME without its common direction, and `A+B+C` the consensus of several, each with an
    equal say (`consensus_weights`); `centred:A+B` centres A alone. Both encode all nouns of the `language` first
    (22,128 Japanese ones), and keep what their parts make of them in the folder `cache`.

    Whole `texts` are encoded by all the others. `ja-ginza` then calls itself `ja-ginza-texts` and is good enough to try
    things out; the others silently cut what is longer than their window (a BERT's: 512 tokens). `endpoint` says how
    that of `openai:NAME` is spoken to (`sozo.scoring.endpoint.profile`).

    `NAME[PROMPT]` puts a prompt before each text, and is what an encoder with one calls itself. NAME alone has the
    model's own default or what its card asks for (`prompts.CARDS`).
    """
    base, prompt = (name, None) if Path(name).is_dir() else split_prompt(name)
    parts = [name] if Path(base).is_dir() else BETWEEN_PARTS.split(name)
    if not all(parts):
        raise UserError(
            f"embedding model {name!r}: a part of the consensus has no name; give NAME+NAME"
        )
    if texts and (
        len(parts) > 1 or base == "categories" or name.startswith((_CENTRED, _FILE))
    ):
        raise UserError(
            f"the embedding model {name} is for words; whole texts need another, such as ja-ginza or e5"
        )
    options: dict[str, Any] = {
        "revision": revision,
        "cache": cache,
        "endpoint": endpoint,
        "language": language,
    }
    if len(parts) > 1:
        vectors = [WordVectors(make_encoder(part, **options), cache) for part in parts]
        return ConsensusEncoder(
            vectors, consensus_weights(vectors, LANGUAGES[language].nouns())
        )
    if name.startswith(_CENTRED):
        part = make_encoder(name.removeprefix(_CENTRED), **options)
        return CentredEncoder(WordVectors(part, cache), LANGUAGES[language].nouns())
    if name == DEFAULT_ENCODER:
        return GinzaEncoder(texts=texts)
    if name == "e5":
        return E5Encoder(cache)
    if name == "minilm":
        return MiniLmEncoder()
    if name == "categories":
        return CategoryEncoder()
    if name.startswith(_FILE):
        return VectorFile(name.removeprefix(_FILE))
    if base.startswith("openai:"):
        return OpenAIEncoder(
            base.removeprefix("openai:"), read_profile(endpoint), prompt=prompt
        )
    return SentenceTransformerEncoder(base, revision=revision, prompt=prompt)
