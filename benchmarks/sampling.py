"""Sampling one prompt: the shared-prefix sampler against `model.generate` with the prompt repeated, interleaved.

    python benchmarks/sampling.py tiny
    python benchmarks/sampling.py runs/gemma-3-270m/warm

Both draw from the model's own distribution (top_k 0, top_p 1), with the same length limit and the same end tokens.
Completions of both count the same: how long they are is drawn, too, so tokens/s are printed beside completions/s.
The matrix-product limit is what the weights' products alone would take, at the speed of a large product measured here.
"""

import argparse
import statistics
import time

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig
from transformers.utils import logging

from sozo.data.prompts import prompt
from sozo.models.processes import freed_memory_kept
from sozo.models.shared_prefix import sample_tokens
from sozo.models.tiny import ensure_tiny
from sozo.models.traits import encode_text, end_tokens


def plain(model: object, ids: list[int], n: int, most: int, ends: list[int]) -> int:
    """New tokens, end token included, of `n` completions by `model.generate`."""
    settings = GenerationConfig(
        do_sample=True, top_k=0, top_p=1.0, max_new_tokens=most, eos_token_id=ends, pad_token_id=ends[0]
    )
    prompts = torch.tensor([ids]).expand(n, -1)
    with torch.no_grad():
        new = model.generate(input_ids=prompts, attention_mask=torch.ones_like(prompts), generation_config=settings)
    ended = torch.isin(new[:, len(ids) :], torch.tensor(ends)).cumsum(1)
    return int((ended == 0).sum() + (ended.amax(1) > 0).sum())


def product_speed(dtype: torch.dtype) -> float:
    """Floating-point operations a second of a large matrix product."""
    a, b = torch.randn(256, 640, dtype=dtype), torch.randn(640, 65536, dtype=dtype)
    torch.mm(a, b)
    start = time.perf_counter()
    for _ in range(5):
        torch.mm(a, b)
    return 5 * 2 * 256 * 640 * 65536 / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder, or tiny")
    parser.add_argument("--counts", type=int, nargs="+", default=[64, 256], help="completions at once")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--max_new_tokens", type=int, default=64)
    args = parser.parse_args()
    logging.disable_progress_bar()
    folder = str(ensure_tiny()) if args.model == "tiny" else args.model
    model = AutoModelForCausalLM.from_pretrained(folder, dtype="auto").eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids, ends = encode_text(tokenizer, prompt("dat")), end_tokens(model, tokenizer)
    vocabulary = model.get_output_embeddings().weight.shape[0]
    weights = (
        sum(p.numel() for p in model.base_model.parameters() if p.ndim == 2) - vocabulary * model.config.hidden_size
    )
    per_token = 2 * (weights + vocabulary * model.config.hidden_size)
    print(f"{args.model}: {model.dtype}, prompt of {len(ids)} tokens, vocabulary of {vocabulary}, {args.rounds} rounds")

    sample_tokens(model, ids, np.random.default_rng(9).random((8, 8)), ends=ends)
    plain(model, ids, 8, 8, ends)
    for n in args.counts:
        ours, theirs, limits = [], [], []
        for number in range(args.rounds):
            random = np.random.default_rng([number, n]).random((n, args.max_new_tokens))
            start = time.perf_counter()
            with freed_memory_kept():  # as sozo's generator does on a CPU
                tokens = sum(map(len, sample_tokens(model, ids, random, ends=ends, slots=n)))
            ours.append((time.perf_counter() - start, tokens))
            torch.manual_seed(number)
            start = time.perf_counter()
            tokens = plain(model, ids, n, args.max_new_tokens, ends)
            theirs.append((time.perf_counter() - start, tokens))
            limits.append(product_speed(model.dtype))
        ratios = [b[0] / a[0] for a, b in zip(ours, theirs, strict=True)]
        shares = [t * per_token / limit / s for (s, t), limit in zip(ours, limits, strict=True)]
        print(
            f"  {n:>5} completions: ours {n / statistics.median(s for s, _ in ours):.2f}/s "
            f"({statistics.median(t / s for s, t in ours):.0f} tokens/s), "
            f"model.generate {n / statistics.median(s for s, _ in theirs):.2f}/s "
            f"({statistics.median(t / s for s, t in theirs):.0f} tokens/s): "
            f"{statistics.median(ratios):.1f} times ({min(ratios):.1f}-{max(ratios):.1f}); "
            f"{statistics.median(shares):.0%} of the matrix-product limit"
        )


if __name__ == "__main__":
    main()
