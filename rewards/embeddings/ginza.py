"""The packaged encoder: a StaticEmbedding made from the word vectors of the PyPI package ja-ginza. No model hub.

The package holds 480,443 words on 20,000 vectors of 300 numbers (pruned: rare words share the vector of a near one). A
word that it lacks is cut into the longest known words from the left, down to single characters, and gets their mean;
one with an unknown character gets no vector.

A whole text has the mean of its kanji and katakana, cut at everything else. Particles and endings would drown what it
is about: with them, 47 of 112 other tales lie closer to Urashima Taro than a paraphrase of it; without them, none does.
"""

import json
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from data.errors import UserError
from rewards.embeddings.encoders import SentenceTransformerEncoder
from rewards.parse import HIRAGANA, JAPANESE, script_reason

_UNKNOWN = "[UNK]"


@cache
def ginza_encoder(*, texts: bool = False) -> SentenceTransformerEncoder:
    """The encoder `ja-ginza` of words, or `ja-ginza-texts` of whole texts; made once in a process."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.pre_tokenizers import Split

    rows, vectors = _read_package()
    # Row 0 is the unknown token's zero vector. Words that share a vector share its id.
    vocabulary = {_UNKNOWN: 0} | {word: row + 1 for word, row in rows.items()}
    weights = np.vstack([np.zeros((1, vectors.shape[1]), np.float32), vectors])
    longest = WordPiece(vocabulary, unk_token=_UNKNOWN, continuing_subword_prefix="", max_input_chars_per_word=1000)
    tokenizer = Tokenizer(longest)
    if texts:
        tokenizer.pre_tokenizer = Split(Regex(f"[^{JAPANESE}]+|[{HIRAGANA}]+"), "removed")
    model = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=weights)], device="cpu")
    name = "ja-ginza-texts" if texts else "ja-ginza"
    return SentenceTransformerEncoder(model, revision=version("ja-ginza"), batch_size=4096, name=name)


def _read_package() -> tuple[dict[str, int], np.ndarray]:
    """Japanese words with their rows, and the vectors."""
    spec = find_spec("ja_ginza")
    if spec is None or spec.origin is None:
        raise UserError("the package ja-ginza is not installed: pip install 'sozo[offline]'")
    import srsly
    from spacy.strings import get_string_id

    folder = Path(spec.origin).parent
    vocab = next(folder.glob("ja_ginza-*")) / "vocab"
    row_of_key = srsly.read_msgpack(vocab / "key2row")
    words = [w for w in json.loads((vocab / "strings.json").read_text("utf-8")) if script_reason(w) is None]
    rows = {word: row_of_key[key] for word in words if (key := get_string_id(word)) in row_of_key}
    return rows, np.load(vocab / "vectors", allow_pickle=False)
