"""See a model learn the DAT in a few minutes, on a laptop: what `make quickstart` runs.

    python recipes/quickstart.py            # further flags, such as --max_steps 50, go to grpo_dat.py

It trains the embedded tiny model twice, with the very commands that a lab launches: by GRPO on the paper's reward
(recipes/grpo_dat.py), and beside it, on the second core, by SFT towards frontier lists (recipes/sft_dat.py). Then it
draws 2,048 responses from random nouns, from the frontier and from the models before and after, prints them as rows of
the paper's Table 11 and writes one HTML page with the learning curves. Killed and run again, it continues.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sozo.data.errors import UserError, one_line_errors
from sozo.data.progress import console
from sozo.data.run_folder import remove_run

if TYPE_CHECKING:
    pass

HERE = Path(__file__).parent
# Of many words and of many categories, combined to be far apart: `wide` in tiny/beyond.yaml.
LISTS = "--model frontier --nouns tiny --strength 1100 --word_strength 260 --frontier_encoder ja-ginza+categories"
LISTS += " --noun_checker jumandic"
SAYS = """\
Unique words: different words in all valid lists. Combination: the part of the mean that disappears when the same words
are shuffled among the lists. Categories: JumanDIC's semantic categories among the ten words of a list; dealt anew: of
the same words, shuffled. Random nouns are drawn from the whole dictionary, all other lists from the model's 6,144."""

CURVES = {
    "dat/mean_score": "Mean DAT score of valid responses",
    "dat/valid_rate": "Valid rate",
    "dat/unique_words": "Unique words per 64 responses",
    "reward": "Reward (10 x score, 0 if invalid or seen before)",
}


def launch(commands: Sequence[Sequence[object]], seed: int, log: Path | None = None) -> None:
    """Start recipes one after the other, each in its own process, as a user would; with `log` they write there."""
    for script, *words in commands:
        command = ["launch", "--config_file", str(HERE / "accelerate" / "single.yaml"), str(HERE / str(script))]
        command += [*map(str, words), "--seed", str(seed)]
        console(stderr=True).print(f"[dim]$ accelerate {' '.join(command)}[/dim]")
        if log:
            log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") if log else nullcontext() as output:
            start = [sys.executable, "-m", "accelerate.commands.accelerate_cli", *command]
            if status := subprocess.run(start, check=False, stdout=output, stderr=output).returncode:
                where = f"; {log} says why" if log else ""
                raise UserError(f"{script} ended with exit status {status}{where}; the same command continues")


def train(args: argparse.Namespace, flags: list[str]) -> None:
    """Train both models, beside each other; what is finished is left alone."""
    lists, log = args.output_dir / "lists", args.output_dir / "sft.log"
    grpo = ["grpo_dat.py", "--output_dir", args.output_dir / "grpo", *flags]
    draw = ["sample_dat.py", *LISTS.split(), "--num_responses", args.num_lists, "--output_dir", lists]
    sft = ["sft_dat.py", "--config", HERE / "tiny" / "sft-word-targets.yaml", "--responses", lists]
    sft += ["--top_k", args.num_lists, "--output_dir", args.output_dir / "sft"]
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(launch, [grpo], args.seed), pool.submit(launch, [draw, sft], args.seed, log)]
        for job in as_completed(jobs):
            if error := job.exception():  # now: the other training may take minutes
                console(stderr=True, style="red", markup=False).print(
                    f"{error}. The other training ends first, and is kept."
                )
    for job in jobs:
        job.result()


def show(args: argparse.Namespace) -> None:
    """Draw responses of the models before and after, print their rows, write the page."""
    import yaml
    from transformers.utils import logging

    from sozo.eval.compare import compare_models
    from sozo.eval.draw import SamplingOptions
    from sozo.eval.evaluated import find_evaluated
    from sozo.eval.outcome import outcomes
    from sozo.eval.report.answer import in_english
    from sozo.eval.report.charts import Curve
    from sozo.eval.run import run_task
    from sozo.models.settings import GeneratorSettings
    from sozo.models.tiny import ensure_tiny
    from sozo.scoring.table import markdown
    from sozo.tasks.dat.scorer import DatSettings
    from sozo.tasks.dat.table11 import table11
    from sozo.tasks.dat.task import Dat
    from study.page import short_table, write_page
    from study.result import Result

    logging.disable_progress_bar()
    config = yaml.safe_load((HERE / "tiny" / "grpo.yaml").read_text("utf-8"))
    task = Dat(DatSettings(noun_checker="jumandic", embedding_model="ja-ginza"))  # what grpo.yaml pays for
    sampling = SamplingOptions(num_responses=args.num_responses, seed=args.seed, batch_size=512)
    models = {"random": "random", "frontier": "frontier", "before": str(ensure_tiny())}
    models |= {"after GRPO": str(args.output_dir / "grpo"), "after SFT": str(args.output_dir / "sft")}
    # At this strength frontier lists are about as far as GRPO's.
    of_nouns: dict[str, dict[str, Any]] = {"frontier": {"nouns": "tiny", "strength": 140.0}}
    folders = {name: args.output_dir / "responses" / name.replace(" ", "-") for name in models}
    for folder in folders.values():
        remove_run(folder)  # of an earlier model
    for name, model in models.items():
        limit = config["max_completion_length"]
        generator = GeneratorSettings(model, source=name, max_new_tokens=limit, **of_nouns.get(name, {}))
        run_task(task, generator, sampling, folders[name])

    table = table11(folders)
    print(markdown(short_table(table)))
    print(SAYS)
    learned = in_english(outcomes(compare_models(find_evaluated([str(args.output_dir / "responses")]), "before")))
    print(*learned, sep="\n")
    history = json.loads((args.output_dir / "grpo" / "trainer_state.json").read_text("utf-8"))["log_history"]
    encoder, page = task.scorer.vectors.encoder, args.output_dir / "report.html"
    facts = {
        "Model": "tiny: 2-layer Llama over 6,144 dictionary nouns",
        "GRPO": f"the paper's reward, {history[-1]['step']} steps of {config['completions_per_step']} completions",
        "SFT": f"towards the words' distributions in {args.num_lists:,} frontier lists, sixteen a step",
        "Noun checker": task.scorer.checker.name,
        "Embedding model": f"{encoder.name} {encoder.revision}",
        "Seed": str(args.seed),
    }
    logged = [entry for entry in history if CURVES.keys() <= entry.keys()]
    baselines = {"dat/mean_score": table.rows[0].summary.mean}
    steps = [entry["step"] for entry in logged]
    curves = [Curve(name, steps, [e[key] for e in logged], baselines.get(key)) for key, name in CURVES.items()]
    title = "sozo quickstart: a tiny model learns the Divergent Association Task"
    write_page(page, Result(title, folders, table, facts, answer=learned, curves=curves, samples=10))
    print(f"The page with curves, distributions and responses: {page}")


def main() -> None:
    """Train, draw, print, write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output_dir", type=Path, default=Path("runs/quickstart"))
    parser.add_argument("--num_lists", type=int, default=32000, help="frontier lists for SFT, sixteen a step")
    parser.add_argument("--num_responses", type=int, default=2048, help="responses drawn for each row")
    parser.add_argument("--seed", type=int, default=0)
    args, flags = parser.parse_known_args()
    started = time.monotonic()
    train(args, flags)
    show(args)
    print(f"Done in {time.monotonic() - started:.0f} s.")


if __name__ == "__main__":
    with one_line_errors("quickstart"):
        main()
