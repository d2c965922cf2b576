"""Sampling: the shared-prefix sampler against `model.generate` with each prompt repeated, interleaved.

    python benchmarks/sampling.py tiny
    python benchmarks/sampling.py tiny --prompts 32 --counts 256
    python benchmarks/sampling.py tiny --counts 256 --truncated min_p=0.1 top_k=20 top_p=0.9
    python benchmarks/sampling.py runs/gemma-3-270m/warm
    python benchmarks/sampling.py runs/gemma-3-270m/base --prompts 32 --stories recipes/gemma-3-270m/stories.jsonl

With --prompts the completions are shared out among prompts of unequal length: the DAT prompt and up to 63 random tokens
behind it, or SAT's prompt with --stories, each cut after another sentence. The sampler is timed with all of them
together and with one after the other, as GRPO asked it before. Where an answer of the two parts, it is said how far
its random number is outside of the interval that the plain forward pass gives to either token: rounding moves borders.
With --truncated the sampler's processor time for a token is compared with that of nothing truncated, interleaved.
Memory is what the process grew by at the first count, beside what the sampler reckons for keys, values and logits.
Both draw from the model's own distribution (top_k 0, top_p 1), with the same length limit and the same end tokens.
Completions of both count the same: how long they are is drawn, too, so tokens/s are printed beside completions/s.
The matrix-product limit is what the weights' products alone would take, at the speed of a large product measured here.
"""

import argparse
import json
import statistics
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig
from transformers.utils import logging

from sozo.data.prompts import prompt
from sozo.models.model_support import cache_bytes, encode_text, end_tokens
from sozo.models.processes import freed_memory_kept
from sozo.models.sampling import Sampling
from sozo.models.shared_prefix import sample_each, sample_tokens
from sozo.models.tiny import ensure_tiny


def plain(model: object, prompts: list[list[int]], most: int, ends: list[int]) -> int:
    """New tokens, end token included, of a completion of each prompt by `model.generate`."""
    settings = GenerationConfig(
        do_sample=True,
        top_k=0,
        top_p=1.0,
        max_new_tokens=most,
        eos_token_id=ends,
        pad_token_id=ends[0],
    )
    longest = max(map(len, prompts))
    ids = torch.tensor([[ends[0]] * (longest - len(row)) + row for row in prompts])
    mask = torch.tensor(
        [[0] * (longest - len(row)) + [1] * len(row) for row in prompts]
    )
    with torch.no_grad():
        new = model.generate(
            input_ids=ids, attention_mask=mask, generation_config=settings
        )
    ended = torch.isin(new[:, longest:], torch.tensor(ends)).cumsum(1)
    return int((ended == 0).sum() + (ended.amax(1) > 0).sum())


def of_stories(path: str, count: int) -> list[str]:
    """SAT's prompt with `count` different texts: the stories, and beginnings of them that end with a sentence."""
    stories = [
        json.loads(line)["text"] for line in Path(path).read_text("utf-8").splitlines()
    ]
    sentences = [
        [part + "。" for part in story.split("。") if part.strip()] for story in stories
    ]
    cuts = [
        (row, len(row) - less)
        for less in range(max(map(len, sentences)))
        for row in sentences
        if len(row) > less
    ]
    return [
        prompt("sat").replace("{story}", "".join(row[:kept]))
        for row, kept in cuts[:count]
    ]


def outside(
    model: Any, prompt: list[int], one: list[int], two: list[int], random: np.ndarray
) -> float:
    """How far the number at which two answers part is outside of the intervals of their tokens, at the most."""
    place = next(k for k, (a, b) in enumerate(zip(one, two, strict=False)) if a != b)
    with torch.no_grad():
        logits = model(
            input_ids=torch.tensor([prompt + one[:place]]), logits_to_keep=1
        ).logits[0, -1]
    borders = np.concatenate([[0.0], logits.double().softmax(0).cumsum(0).numpy()])
    u = random[place]
    return max(
        borders[token] - u if u < borders[token] else u - borders[token + 1]
        for token in (one[place], two[place])
    )


class Memory:
    """The most by which this process grows while it lasts, in bytes."""

    def __enter__(self) -> "Memory":
        self._before, self.peak, self._going = self._resident(), 0, True
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _resident(self) -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    def _watch(self) -> None:
        while self._going:
            self.peak = max(self.peak, self._resident() - self._before)
            time.sleep(0.005)

    def __exit__(self, *error: object) -> None:
        self._going = False
        self._thread.join()


def product_speed(dtype: torch.dtype) -> float:
    """Floating-point operations a second of a large matrix product."""
    a, b = torch.randn(256, 640, dtype=dtype), torch.randn(640, 65536, dtype=dtype)
    torch.mm(a, b)
    start = time.perf_counter()
    for _ in range(5):
        torch.mm(a, b)
    return 5 * 2 * 256 * 640 * 65536 / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="a folder, or tiny")
    parser.add_argument(
        "--counts", type=int, nargs="+", default=[64, 256], help="completions at once"
    )
    parser.add_argument(
        "--prompts",
        type=int,
        default=1,
        help="of unequal length; counts are multiples of it",
    )
    parser.add_argument("--stories", help="JSONL with a column text: prompts are SAT's")
    parser.add_argument("--truncated", nargs="+", default=[], help="as --sampling says")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--max_new_tokens", type=int, default=64)
    args = parser.parse_args()
    logging.disable_progress_bar()
    folder = str(ensure_tiny()) if args.model == "tiny" else args.model
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=args.dtype).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids, ends = encode_text(tokenizer, prompt("dat")), end_tokens(model, tokenizer)
    vocabulary = model.get_output_embeddings().weight.shape[0]
    weights = (
        sum(p.numel() for p in model.base_model.parameters() if p.ndim == 2)
        - vocabulary * model.config.hidden_size
    )
    per_token = 2 * (weights + vocabulary * model.config.hidden_size)
    print(
        f"{args.model}: {model.dtype}, prompt of {len(ids)} tokens, vocabulary of {vocabulary}, {args.rounds} rounds"
    )

    random_tokens = (
        np.random.default_rng(8).integers(2, vocabulary, (args.prompts, 63)).tolist()
    )
    several = [
        ids + more[: 63 * k // max(1, args.prompts - 1)]
        for k, more in enumerate(random_tokens)
    ]
    if args.stories:
        several = [
            encode_text(tokenizer, text)
            for text in of_stories(args.stories, args.prompts)
        ]
    print(f"prompts of {min(map(len, several))} to {max(map(len, several))} tokens")

    sample_tokens(model, ids, np.random.default_rng(9).random((8, 8)), ends=ends)
    plain(model, [ids] * 8, 8, ends)
    for n in args.counts:
        ours, theirs, limits, apart, far = [], [], [], [], [0.0]
        prompts = [each for each in several for _ in range(n // args.prompts)]
        for number in range(args.rounds):
            random = np.random.default_rng([number, n]).random((n, args.max_new_tokens))
            start = time.perf_counter()
            with (
                Memory() as memory,
                freed_memory_kept(),
            ):  # as sozo's generator does on a CPU
                answers = sample_each(model, prompts, random, ends=ends, slots=n)
            ours.append((time.perf_counter() - start, sum(map(len, answers))))
            if args.prompts > 1:
                start, alone = time.perf_counter(), []
                with freed_memory_kept():
                    for first in range(0, n, n // args.prompts):
                        rows = slice(first, first + n // args.prompts)
                        alone += sample_tokens(
                            model, prompts[first], random[rows], ends=ends, slots=n
                        )
                taken = time.perf_counter() - start
                parted = [
                    row
                    for row in zip(prompts, alone, answers, random, strict=True)
                    if row[1] != row[2]
                ]
                apart.append((taken, len(parted)))
                far += [outside(model, *row) for row in parted]
            if number == 0:
                longest, held = max(map(len, several)), max(map(len, answers)) - 1
                reckoned = cache_bytes(model, len(several) * longest + n * held, n)
                print(
                    f"  {n:>5} completions: {memory.peak / 2**20:.0f} MiB, reckoned {reckoned / 2**20:.0f}"
                )
            torch.manual_seed(number)
            start = time.perf_counter()
            tokens = plain(model, prompts, args.max_new_tokens, ends)
            theirs.append((time.perf_counter() - start, tokens))
            limits.append(product_speed(model.dtype))
        ratios = [b[0] / a[0] for a, b in zip(ours, theirs, strict=True)]
        shares = [
            t * per_token / limit / s
            for (s, t), limit in zip(ours, limits, strict=True)
        ]
        print(
            f"  {n:>5} completions: ours {n / statistics.median(s for s, _ in ours):.2f}/s "
            f"({statistics.median(t / s for s, t in ours):.0f} tokens/s), "
            f"model.generate {n / statistics.median(s for s, _ in theirs):.2f}/s "
            f"({statistics.median(t / s for s, t in theirs):.0f} tokens/s): "
            f"{statistics.median(ratios):.1f} times ({min(ratios):.1f}-{max(ratios):.1f}); "
            f"{statistics.median(shares):.0%} of the matrix-product limit"
        )
        for name in args.truncated:
            ratios = []
            for number in range(args.rounds):
                random = np.random.default_rng([number, n]).random(
                    (n, args.max_new_tokens)
                )
                taken = []
                for how in ({}, Sampling.parse(name).truncation):
                    start = time.process_time()
                    with freed_memory_kept():
                        answers = sample_each(
                            model, prompts, random, ends=ends, slots=n, truncation=how
                        )
                    taken.append((time.process_time() - start) / sum(map(len, answers)))
                ratios.append(taken[1] / taken[0])
            print(
                f"        {name}: {statistics.median(ratios):.2f} times as long for a token "
                f"({min(ratios):.2f}-{max(ratios):.2f})"
            )
        if apart:
            ratios = [b[0] / a[0] for a, b in zip(ours, apart, strict=True)]
            print(
                f"        against one prompt after the other: {statistics.median(ratios):.1f} times "
                f"({min(ratios):.1f}-{max(ratios):.1f}); {sum(parted for _, parted in apart)} of {n * args.rounds} "
                f"answers part, with a number at most {max(far):.1g} outside"
            )


if __name__ == "__main__":
    main()
