"""Draw DAT responses from a model (or random nouns), score them and print the row of the paper's Table 11.

    python recipes/sample_dat.py --model runs/gemma-3-270m/warm --num_responses 512 --output_dir runs/gemma-3-270m/a

`--model` is a folder (a LoRA adapter's too), a hub id, `tiny` for the embedded model or `random` for random nouns. The
rows go into a parquet table in `--output_dir`. This is plain `model.generate`, one batch at a time.
"""

import argparse
import sys
from pathlib import Path
from typing import Any


def load_generator(model: str, max_new_tokens: int, *, dtype: str = "auto", source: str | None = None) -> Any:
    """The generator for `--model`; its responses' source is called `source`, or like the model."""
    from data.nouns import load_nouns
    from eval.generate import RandomNouns, TransformersGenerator
    from training.tiny import NAME, ensure_tiny

    if model == "random":
        return RandomNouns(load_nouns())
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path = str(ensure_tiny()) if model == NAME else model
    weights, tokenizer = AutoModelForCausalLM.from_pretrained(path, dtype=dtype), AutoTokenizer.from_pretrained(path)
    return TransformersGenerator(weights, tokenizer, name=source or model, max_new_tokens=max_new_tokens)


def main() -> int:
    """Draw, score, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--output_dir", type=Path, required=True)
    parser.add_argument("--num_responses", type=int, default=2048)
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--max_new_tokens", type=int, default=256)
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--noun_checker", default="auto")
    parser.add_argument("--embedding_model", default="ja-ginza")
    args = parser.parse_args()
    part = args.output_dir / "responses" / "part-00000.parquet"
    if part.exists():
        parser.error(f"{part} is already there; give another --output_dir")

    from rich.console import Console
    from rich.progress import track

    from data.schema import write_responses
    from eval.dat import summarise
    from eval.responses import sample
    from eval.show import summary_table
    from rewards.dat import ScorerSettings

    scorer = ScorerSettings(args.noun_checker, args.embedding_model).build()
    generator = load_generator(args.model, args.max_new_tokens, dtype=args.dtype)
    batches = sample(generator, scorer, args.num_responses, seed=args.seed, batch_size=args.batch_size)
    count = -(-args.num_responses // args.batch_size)
    bar = track(batches, "Sampling", count, console=Console(stderr=True), disable=not sys.stderr.isatty())
    responses = [response for batch in bar for response in batch]
    write_responses(part, responses)
    Console().print(summary_table(summarise(responses, checker=scorer.checker)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
