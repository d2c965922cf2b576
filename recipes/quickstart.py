"""See a model learn the DAT in a few minutes, on a laptop: what `make quickstart` runs.

    python recipes/quickstart.py            # further flags, such as --max_steps 50, go to grpo_dat.py

It trains the embedded tiny model by GRPO with the very command that a lab launches (recipes/grpo_dat.py), then draws
2,048 responses from random nouns, from the model before and from the model after, prints them as rows of the paper's
Table 11 and writes one HTML page with the learning curves. Killed and run again, it continues; finished, it only draws.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent


def main() -> None:
    """Train, draw, print, write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output_dir", type=Path, default=Path("runs/quickstart"))
    parser.add_argument("--num_responses", type=int, default=2048, help="responses drawn for each row")
    parser.add_argument("--seed", type=int, default=0)
    args, flags = parser.parse_known_args()
    started = time.monotonic()
    # In its own process, as a user would.
    command = ["launch", "--config_file", str(HERE / "accelerate" / "single.yaml"), str(HERE / "grpo_dat.py")]
    command += ["--output_dir", str(args.output_dir / "grpo"), "--seed", str(args.seed), *flags]
    Console(stderr=True).print(f"[dim]$ accelerate {' '.join(command)}[/dim]", soft_wrap=True)
    subprocess.run([sys.executable, "-m", "accelerate.commands.accelerate_cli", *command], check=True)

    import yaml
    from study.page import write_report
    from transformers.utils import logging

    from data.schema import read_responses
    from eval.draw import SamplingOptions
    from eval.report.charts import Curve
    from eval.run import run_task
    from generate import GeneratorSettings
    from models.tiny import ensure_tiny
    from rewards.tasks.dat.scorer import DatSettings
    from rewards.tasks.dat.summary import DatSummary
    from rewards.tasks.dat.task import Dat
    from rewards.tasks.dat.view import summary_cells

    logging.disable_progress_bar()
    config = yaml.safe_load((HERE / "tiny" / "grpo.yaml").read_text("utf-8"))
    task = Dat(DatSettings(noun_checker="jumandic", embedding_model="ja-ginza"))  # what grpo.yaml pays for
    sampling = SamplingOptions(num_responses=args.num_responses, seed=args.seed, batch_size=512)
    models = {"random": "random", "before GRPO": str(ensure_tiny()), "after GRPO": str(args.output_dir / "grpo")}
    responses, rows = {}, []
    shutil.rmtree(args.output_dir / "responses", ignore_errors=True)  # of an earlier model
    for name, model in models.items():
        generator = GeneratorSettings(model, source=name, max_new_tokens=config["max_completion_length"])
        run = run_task(task, generator, sampling, args.output_dir / "responses" / name.replace(" ", "-"))
        assert run is not None  # there is one process
        rows.append(DatSummary.from_json(run.metrics))
        responses[name] = list(read_responses(run.folder))

    table, console = Table(title="DAT scores (rows as in the paper's Table 11)", title_justify="left"), Console()
    headings = ("Source", "Valid", "Mean", "Std", "Unique words")  # the page has the confidence intervals too
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "Source" else "right", no_wrap=True)
    for cells in map(summary_cells, rows):
        table.add_row(*(cells[heading] for heading in headings))
    console.print(table)
    random_row, after = rows[0], rows[-1]
    if after.mean is not None and random_row.mean is not None and random_row.std:
        gain = (after.mean - random_row.mean) / random_row.std
        console.print(f"After GRPO the mean is {gain:+.2f} of random nouns' standard deviations from their mean.")

    history = json.loads((args.output_dir / "grpo" / "trainer_state.json").read_text("utf-8"))["log_history"]
    logged = [entry for entry in history if "dat/valid_rate" in entry]
    shown = {
        "dat/mean_score": "Mean DAT score of valid responses",
        "dat/valid_rate": "Valid rate",
        "dat/unique_words": "Unique words per 64 responses",
        "reward": "Reward (10 x score, 0 if invalid or seen before)",
    }
    steps, baselines = [entry["step"] for entry in logged], {"dat/mean_score": random_row.mean}
    page, encoder = args.output_dir / "report.html", task.scorer.vectors.encoder
    write_report(
        page,
        title="sozo quickstart: a tiny model learns the Divergent Association Task",
        rows=rows,
        scores={name: [r.score for r in texts if r.score is not None] for name, texts in responses.items()},
        samples={name: texts[:10] for name, texts in list(responses.items())[1:]},
        curves=[Curve(name, steps, [e.get(key) for e in logged], baselines.get(key)) for key, name in shown.items()],
        facts={
            "Model": "tiny: 2-layer Llama over 6,144 dictionary nouns",
            "Training": f"GRPO, {history[-1]['step']} steps of {config['completions_per_step']} completions",
            "Noun checker": task.scorer.checker.name,
            "Embedding model": f"{encoder.name} {encoder.revision}",
            "Seed": str(args.seed),
        },
    )
    console.print(f"The page with curves, distributions and responses: {page}", soft_wrap=True)
    console.print(f"Done in {time.monotonic() - started:.0f} s.")


if __name__ == "__main__":
    main()
