"""Encoding unseen words: one batched pass sorted by length against one call per word, at equal precision.

    python benchmarks/encoding.py [--words 5000] [--single 300]

The encoder is a BERT-base-sized model with random weights and a character tokenizer: the time does not depend on what
the weights are. One call per word is timed on a share of the words, spread over their lengths, and scaled.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from sozo.data.jumandic import load_nouns
from sozo.scoring.embeddings import SentenceTransformerEncoder, WordVectors


def bert(folder: Path, words: list[str]) -> SentenceTransformer:
    """BERT-base (12 layers of 768) over characters."""
    characters = sorted({c for word in words for c in word})
    vocabulary = {
        token: i
        for i, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *characters])
    }
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )
    torch.manual_seed(0)
    BertModel(BertConfig(vocab_size=len(vocabulary))).eval().save_pretrained(folder)
    fast.save_pretrained(folder)
    transformer = Transformer(str(folder))
    return SentenceTransformer(
        modules=[transformer, Pooling(768, "mean")], device="cpu"
    )


class Calls:
    """Counts the calls of an encoder."""

    def __init__(self, encoder: SentenceTransformerEncoder) -> None:
        self.encoder, self.name, self.revision, self.calls = (
            encoder,
            encoder.name,
            encoder.revision,
            0,
        )

    def encode(self, words: list[str]) -> np.ndarray:
        self.calls += 1
        return self.encoder.encode(words)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--words", type=int, default=5000)
    parser.add_argument(
        "--single", type=int, default=300, help="words of one call each, per round"
    )
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    words = [
        str(w) for w in np.random.default_rng(0).permutation(load_nouns())[: args.words]
    ]
    with tempfile.TemporaryDirectory() as folder:
        model = bert(Path(folder) / "bert", words)
        encoder = SentenceTransformerEncoder(
            model, name="bert-base-random", revision="seed-0"
        )
        encoder.encode(words[:64])
        ratios = []
        for number in range(args.rounds):
            start = time.perf_counter()
            single = np.concatenate(
                [encoder.encode([word]) for word in words[: args.single]]
            )
            alone = (time.perf_counter() - start) / args.single
            cache, counted = Path(folder) / str(number), Calls(encoder)
            vectors = WordVectors(counted, cache)
            start = time.perf_counter()
            rows = vectors.rows(words)
            together = (time.perf_counter() - start) / len(words)
            unit = single / np.linalg.norm(single, axis=1, keepdims=True)
            worst = float(np.abs(vectors.matrix[rows[: args.single]] - unit).max())
            assert worst < 1e-5, f"vectors differ by {worst}"
            ratios.append(alone / together)
            print(
                f"one call per word {1 / alone:6.1f} words/s, together {1 / together:6.1f} words/s: "
                f"{ratios[-1]:.1f} times (float32, largest difference {worst:.0e})"
            )
            again = Calls(encoder)
            start = time.perf_counter()
            WordVectors(again, cache).rows(words)
            print(
                f"second run with the disk cache: {again.calls} encoder calls, {time.perf_counter() - start:.2f} s"
            )
            assert again.calls == 0
        print(f"median {statistics.median(ratios):.1f} times")


if __name__ == "__main__":
    main()
