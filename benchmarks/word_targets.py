r"""The loss of word targets, forward and backward, against a mask over all nouns at each token of a word.

    OMP_NUM_THREADS=1 python benchmarks/word_targets.py
    OMP_NUM_THREADS=1 python benchmarks/word_targets.py --tokenizer runs/gemma-3-270m/base --lists 4

JumanDIC's nouns as lists write them, by a tokenizer of byte pairs that is trained on them here, or by a model's own.
The lists are drawn from the distributions that are their targets; what draws them has random vectors. Both ways get the
same lists and the same random logits, and are interleaved, with the plain cross-entropy as their floor. Seconds are the
processor's, so that other work on the machine counts little.
"""

import argparse
import statistics
import time
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from sozo.data.jumandic import load_nouns
from sozo.scoring.parse import write_list
from sozo.tasks.dat.frontier import WordByWord
from sozo.training.word_targets import WordTargets, row_key, spell

IGNORED, DIMENSIONS, PULL = -100, 300, 7.0


class Naive:
    """At each token, of all nouns those that begin with the tokens before; each of them reads its own logit."""

    def __init__(
        self, words: WordByWord, spellings: list[tuple[int, ...]], find: Any
    ) -> None:
        self._words, self._find = words, find
        self._length = np.array([len(spelling) for spelling in spellings])
        depths = range(self._length.max() + 1)
        self._tokens = np.array(
            [[*s, *[-1] * (len(depths) - len(s))] for s in spellings]
        )
        numbers: dict[tuple[int, ...], int] = {}
        self._before = np.array(
            [
                [numbers.setdefault(s[:d], len(numbers)) for d in depths]
                for s in spellings
            ]
        )

    def __call__(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        wanted = logits.gather(-1, labels.clamp(min=0)[..., None])[..., 0]
        nouns = [self._find(row) for row in labels.tolist()]
        lists = np.array([[noun for _, noun in row] for row in nouns])
        shares = self._words.targets(lists).reshape(lists.size, -1)
        noun, row = lists.ravel(), np.repeat(np.arange(len(lists)), lists.shape[1])
        start = np.array([place for row in nouns for place, _ in row])
        end = labels.numpy()[row, start + self._length[noun]]
        for depth in range(self._tokens.shape[1]):
            at = np.flatnonzero(self._length[noun] >= depth)
            likely = shares[at] * (
                self._before[:, depth] == self._before[noun[at], depth][:, None]
            )
            likely /= likely.sum(axis=1, keepdims=True)
            tokens = np.where(
                self._tokens[:, depth] < 0, end[at][:, None], self._tokens[:, depth]
            )
            place = torch.from_numpy(row[at]), torch.from_numpy(start[at] + depth)
            scores = logits[
                place[0][:, None], place[1][:, None], torch.from_numpy(tokens)
            ]
            wanted = wanted.index_put(
                place, (torch.from_numpy(likely) * scores).sum(dim=-1)
            )
        return (logits.logsumexp(dim=-1) - wanted)[labels != IGNORED].sum()


def plain(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The cross-entropy with the tokens of the lists alone, which both ways contain."""
    wanted = logits.gather(-1, labels.clamp(min=0)[..., None])[..., 0]
    return (logits.logsumexp(dim=-1) - wanted)[labels != IGNORED].sum()


def byte_pairs(nouns: list[str], vocabulary: int) -> Any:
    """A tokenizer of that many tokens, trained on lists of these nouns."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(
        [write_list(nouns[k : k + 10]) for k in range(0, len(nouns), 10)], trainer
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--tokenizer",
        help="a model's folder (default: byte pairs of --vocabulary tokens)",
    )
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--lists", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    nouns, random = list(load_nouns()), np.random.default_rng(0)
    tokenizer = (
        AutoTokenizer.from_pretrained(args.tokenizer)
        if args.tokenizer
        else byte_pairs(nouns, args.vocabulary)
    )
    spellings = spell(tokenizer, nouns)
    unit = random.normal(size=(len(nouns), DIMENSIONS)).astype(np.float32)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    words = WordByWord(
        unit, PULL, random.normal(size=(10, len(nouns))).astype(np.float32)
    )
    texts = [
        write_list([nouns[k] for k in row]) + "\n"
        for row in words.draw(args.lists, random)
    ]
    rows = [
        torch.tensor(tokenizer.encode(text, add_special_tokens=False)) for text in texts
    ]
    labels = torch.nn.utils.rnn.pad_sequence(
        rows, batch_first=True, padding_value=IGNORED
    )
    logits = torch.randn(*labels.shape, len(tokenizer))
    started = time.process_time()
    targets = WordTargets(words, spellings, set(map(row_key, labels.tolist())))
    print(
        f"{len(nouns):,} nouns of {np.mean([*map(len, spellings)]):.2f} tokens, {len({s[0] for s in spellings}):,}",
        end=" ",
    )
    print(
        f"first tokens; {args.lists} lists; ready in {time.process_time() - started:.2f} s"
    )
    ways = {
        "plain": plain,
        "children": targets,
        "all nouns": Naive(words, spellings, targets.find),
    }
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    losses = {}
    for _ in range(args.rounds):
        for name, way in ways.items():
            leaf, began = logits.clone().requires_grad_(), time.process_time()
            loss = way(leaf, labels)
            between = time.process_time()
            loss.backward()
            seconds[name].append((between - began, time.process_time() - between))
            losses[name] = loss.item()
    for name, taken in seconds.items():
        forward, backward = (
            statistics.median(part) for part in zip(*taken, strict=True)
        )
        print(
            f"{name}: forward {forward:.3f} s, backward {backward:.3f} s, loss {losses[name]:.7g}"
        )
    floor = [sum(taken) for taken in seconds["plain"]]
    for name, less in (
        ("whole", [0.0] * args.rounds),
        ("without the plain loss", floor),
    ):
        pairs = zip(seconds["all nouns"], seconds["children"], less, strict=True)
        ratios = [
            (sum(naive) - other) / (sum(ours) - other) for naive, ours, other in pairs
        ]
        print(
            f"{name}: {statistics.median(ratios):.1f} times ({min(ratios):.1f}-{max(ratios):.1f})"
        )


if __name__ == "__main__":
    main()
