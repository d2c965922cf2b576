"""Completions of one model by sozo's sampler and by others: each way in a process of its own, all in one run.

    .integrations/vllm/bin/python benchmarks/engines.py runs/qwen2.5-coder-1.5b-instruct/base    # after make test-vllm
    .integrations/vllm/bin/python benchmarks/engines.py FOLDER --ways sozo vllm-eager --rounds 1

The ways: transformers' `generate` with each prompt repeated; its continuous batching (`generate_batch`, which TRL calls
for `use_transformers_continuous_batching`); sozo's sampler; and vLLM as it sets itself up (eager, compiled), which
keeps one core for its scheduler, and with its kernels' threads on all cores (vllm-bound, vllm-best: that compiled).
All draw from the model's own distribution in --dtype and go on behind end tokens: every completion has as many tokens.
Asked are the DAT prompt for 32 and for 128 completions at once, and 32 prompts, different from the start, for 4 each.
A round with 4 tokens goes before, so that nothing is timed that happens once. Memory is the largest of a process and
its children; that of a GPU is not. "Computed" are tokens with different histories: sozo's sampler computes no others.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ASKED = ("1 x 32", "1 x 128", "32 x 4")
WAYS = (
    "generate",
    "sozo",
    "continuous",
    "vllm-eager",
    "vllm-compiled",
    "vllm-bound",
    "vllm-best",
)
Draw = Callable[
    [list[list[int]], int, int], Sequence[Sequence[int]]
]  # prompts, new tokens, seed -> completions


def sozo(model: Any) -> Draw:
    import numpy as np

    from sozo.models.processes import freed_memory_kept
    from sozo.models.shared_prefix import sample_each

    def draw(prompts: list[list[int]], most: int, seed: int) -> Sequence[Sequence[int]]:
        random = np.random.default_rng(seed).random((len(prompts), most))
        with freed_memory_kept():  # as sozo's generator does on a CPU
            return sample_each(model, prompts, random, ends=[], slots=len(prompts))

    return draw


def own_distribution(most: int) -> Any:
    from transformers import GenerationConfig

    whole = {
        "do_sample": True,
        "temperature": 1.0,
        "top_k": 0,
        "top_p": 1.0,
        "pad_token_id": 0,
    }
    return GenerationConfig(**whole, max_new_tokens=most)


def generate(model: Any) -> Draw:
    import torch

    def draw(prompts: list[list[int]], most: int, seed: int) -> Sequence[Sequence[int]]:
        torch.manual_seed(seed)
        longest = max(map(len, prompts))
        ids = torch.tensor(
            [[0] * (longest - len(row)) + row for row in prompts], device=model.device
        )
        mask = torch.tensor(
            [[0] * (longest - len(row)) + [1] * len(row) for row in prompts],
            device=model.device,
        )
        with torch.no_grad():
            new = model.generate(
                input_ids=ids,
                attention_mask=mask,
                generation_config=own_distribution(most),
            )
        return new[:, longest:].tolist()

    return draw


def continuous(model: Any) -> Draw:
    import torch
    from transformers import ContinuousBatchingConfig

    # A fifth of the memory for its cache: alone it takes nearly all that the machine has, used or not.
    cache = ContinuousBatchingConfig(max_memory_percent=0.2, seed=0)

    def draw(prompts: list[list[int]], most: int, seed: int) -> Sequence[Sequence[int]]:
        settings = {
            "generation_config": own_distribution(most),
            "continuous_batching_config": cache,
        }
        with torch.no_grad():
            done = model.generate_batch(prompts, **settings)
        return [
            done[name].generated_tokens
            for name in sorted(done, key=lambda name: int(name.partition("_")[2]))
        ]

    return draw


def vllm(options: argparse.Namespace, eager: bool) -> Draw:
    from vllm import LLM, SamplingParams

    settings = {
        "dtype": options.dtype,
        "max_model_len": options.window,
        "max_num_seqs": 128,
    }
    llm = LLM(
        options.model,
        enforce_eager=eager,
        enable_prefix_caching=True,
        generation_config="vllm",
        **settings,
    )

    def draw(prompts: list[list[int]], most: int, seed: int) -> Sequence[Sequence[int]]:
        request = SamplingParams(temperature=1.0, max_tokens=most, ignore_eos=True)
        outputs = llm.generate(
            [{"prompt_token_ids": row} for row in prompts], request, use_tqdm=False
        )
        return [output.outputs[0].token_ids for output in outputs]

    return draw


def processor_time(processes: list[Any]) -> float:
    times = [one.cpu_times() for one in processes]
    return sum(each.user + each.system for each in times)


def measure(options: argparse.Namespace) -> None:
    """One way, in this process: a line of JSON for each of what is asked."""
    import psutil
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from sozo.data.prompts import prompt
    from sozo.models.model_support import encode_text

    tokenizer, dat = AutoTokenizer.from_pretrained(options.model), prompt("dat")

    def prompts_of(name: str, number: int) -> list[list[int]]:
        """Numbered by the round, too: no way finds a prompt in its cache that an earlier round computed."""
        different, each = map(int, name.split(" x "))
        return [
            encode_text(tokenizer, f"{number}.{k:02} {dat}") for k in range(different)
        ] * each

    options.window = len(prompts_of("1 x 32", 0)[0]) + options.max_new_tokens + 9
    start = time.perf_counter()
    if options.way.startswith("vllm"):
        draw = vllm(options, eager=options.way in ("vllm-eager", "vllm-bound"))
    else:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        model = (
            AutoModelForCausalLM.from_pretrained(options.model, dtype=options.dtype)
            .to(device)
            .eval()
        )
        model.generation_config.eos_token_id = None
        draw = {"sozo": sozo, "generate": generate, "continuous": continuous}[
            options.way
        ](model)
    started = time.perf_counter() - start
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    for name in options.asked:
        draw(prompts_of(name, 0), 4, 0)
        for number in range(1, options.rounds + 1):
            prompts = prompts_of(name, number)
            start, used = time.perf_counter(), processor_time(processes)
            rows = draw(prompts, options.max_new_tokens, number)
            seconds, used = (
                time.perf_counter() - start,
                processor_time(processes) - used,
            )
            tokens = sum(map(len, rows))
            assert tokens == len(prompts) * options.max_new_tokens, (
                f"{tokens} tokens of {len(prompts)} completions"
            )
            pairs = zip(prompts, rows, strict=True)
            histories = {
                (tuple(text), *row[:k]) for text, row in pairs for k in range(len(row))
            }
            resident = sum(one.memory_info().rss for one in processes) / 2**30
            values = {
                "tokens": tokens,
                "seconds": seconds,
                "cpu": used,
                "GiB": resident,
            }
            values["computed"] = len(histories) / tokens
            facts = {
                "way": options.way,
                "asked": name,
                "prompt": max(map(len, prompts)),
                "started": started,
            }
            with options.to.open("a") as file:
                file.write(json.dumps(facts | values) + "\n")


def environment(way: str) -> dict[str, str]:
    """vLLM's cache of 4 GB, and where its kernels' threads are bound to."""
    fixed = {"VLLM_CPU_KVCACHE_SPACE": "4", "VLLM_LOGGING_LEVEL": "ERROR"}
    if way in ("vllm-bound", "vllm-best"):
        fixed["VLLM_CPU_OMP_THREADS_BIND"] = ",".join(
            map(str, sorted(os.sched_getaffinity(0)))
        )
    return os.environ | fixed


def table(rows: list[dict[str, Any]]) -> None:
    """Tokens a second of every way, as medians with the range, and how many times those of the first."""
    for asked in dict.fromkeys(row["asked"] for row in rows):
        mine = [row for row in rows if row["asked"] == asked]
        print(f"{asked}, prompt of {mine[0]['prompt']} tokens")
        base = None
        for way in dict.fromkeys(row["way"] for row in mine):
            ran = [row for row in mine if row["way"] == way]
            speeds = sorted(row["tokens"] / row["seconds"] for row in ran)
            middle = statistics.median(speeds)
            base = base or middle
            cpu = statistics.median(row["cpu"] / row["tokens"] for row in ran)
            print(
                f"  {way:14} {middle:7.1f} tokens/s ({speeds[0]:.1f}-{speeds[-1]:.1f}), {middle / base:5.2f} times "
                f"{mine[0]['way']}; {1000 * cpu:.1f} ms of processor time a token; computed {ran[0]['computed']:.0%}; "
                f"{max(row['GiB'] for row in ran):.1f} GiB; started in {ran[0]['started']:.0f} s"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="a folder")
    parser.add_argument(
        "--ways",
        nargs="+",
        choices=WAYS,
        default=WAYS,
        help="the first is what others are compared to",
    )
    parser.add_argument(
        "--asked",
        nargs="+",
        choices=ASKED,
        default=ASKED,
        help="prompts x completions of each",
    )
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--max_new_tokens", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--way", help=argparse.SUPPRESS)
    parser.add_argument("--to", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        measure(options)
        return
    with tempfile.TemporaryDirectory() as folder:
        to, rows = Path(folder, "rows.jsonl"), []
        for way in options.ways:
            command = [
                sys.executable,
                __file__,
                *sys.argv[1:],
                "--way",
                way,
                "--to",
                str(to),
            ]
            done = subprocess.run(command, env=environment(way), check=False)
            rows = (
                [json.loads(line) for line in to.read_text().splitlines()]
                if to.exists()
                else []
            )
            if done.returncode:
                print(f"{way} ended with {done.returncode}", flush=True)
    table(rows)


if __name__ == "__main__":
    main()
