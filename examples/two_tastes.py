"""Two policies from one base, each trained on one expert's judge, and both judged by both (`ideas/two_tastes.yaml`).

    python examples/two_tastes.py
    python examples/two_tastes.py --seeds choosing

What is finished is left alone, so the same command continues. The table goes to the terminal and, with all digits, to
the folder `output` of the plan.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml
from ideas.grammar import TECHNOLOGIES
from ideas.tastes import judge
from ideas.tiny_ideas import build

from sozo.data.errors import UserError, one_line_errors
from sozo.data.record import write_json
from sozo.eval.draw import SamplingOptions
from sozo.eval.run import run_task, score_answers
from sozo.models.settings import GeneratorSettings
from sozo.scoring.measure import DASH
from sozo.scoring.statistics import compare_paired, mean_interval
from sozo.tasks import finished_run
from sozo.tasks.finished import Finished
from sozo.tasks.pbig.settings import PbigSettings
from sozo.tasks.pbig.task import Pbig

HERE = Path(__file__).parent
_MEASURES = ("pbig/worth", "pbig/distance", "pbig/same_title")


def train(plan: Mapping[str, Any], taste: str, seed: int) -> Path:
    """The policy of one taste and seed, trained first if it is not there."""
    folder = Path(plan["output"]) / f"seed-{seed}" / taste
    if not (folder / "metrics.json").is_file():
        (entry,) = yaml.safe_load(Path(plan["config"]).read_text("utf-8"))["tasks"]
        (options,) = entry["reward_args"].values()
        options |= {"taste": taste, "ledger": str(folder.with_name(f"{taste}.jsonl"))}
        command = [sys.executable, str(HERE.parent / "recipes" / "grpo_dat.py"), "--config", plan["config"]]
        command += ["--seed", str(seed), "--output_dir", str(folder), "--tasks", json.dumps(entry)]
        paths = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))  # of `ideas.tastes`
        if subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, check=False).returncode:
            raise UserError(f"{folder}: the training stopped; see above, and run the same command again")
    return folder


def judged(plan: Mapping[str, Any], policy: Path, name: str, seed: int) -> dict[str, Finished]:
    """One policy's ideas by every judge: the same ideas, drawn once."""
    runs: dict[str, Finished] = {}
    root = Path(plan["output"]) / f"seed-{seed}" / "judged"
    for taste in plan["tastes"]:
        task = Pbig(PbigSettings(pbig_patents=str(TECHNOLOGIES)))
        task.judge = judge(taste)
        folder = root / f"{name}-by-{taste}"
        if not runs:
            writer = GeneratorSettings(str(policy), max_new_tokens=12, source=name)
            run_task(task, writer, SamplingOptions(num_answers=plan["answers"], seed=seed), folder)
        else:
            score_answers(task, root / f"{name}-by-{plan['tastes'][0]}", folder, source=name)
        run = finished_run(folder)
        assert run is not None
        runs[taste] = run
    return runs


def row(plan: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Of one seed: every policy's numbers by every judge, and each judge's difference between the two policies."""
    tastes = plan["tastes"]
    runs = {"base": judged(plan, Path(plan["base"]), "base", seed)}
    for taste in tastes:
        runs[taste] = judged(plan, train(plan, taste, seed), taste, seed)
    measure = Pbig.measures[0]
    differences = {}
    for mine, other in (tastes, tastes[::-1]):
        pair = runs[other][mine].by_item(measure), runs[mine][mine].by_item(measure)
        differences[mine] = asdict(compare_paired(*pair))
    numbers = {
        policy: {taste: {name: run.metrics["measures"][name] for name in _MEASURES} for taste, run in by_judge.items()}
        for policy, by_judge in runs.items()
    }
    return {"seed": seed, "policies": numbers, "differences": differences}


def print_table(rows: Sequence[Mapping[str, Any]], tastes: Sequence[str]) -> None:
    """The rows, and each judge's difference over the seeds."""
    print("| seed | policy | judged | " + " | ".join(f"worth to {t}" for t in tastes) + " | distance | equal titles |")
    print("|---:|---|" + "---:|" * (len(tastes) + 3))
    for one in rows:
        for policy, by_judge in one["policies"].items():
            first = by_judge[tastes[0]]
            worths = [by_judge[taste]["pbig/worth"] for taste in tastes]
            cells = [f"{worths[0]['n']:,} of {worths[0]['of']:,}", *(_shown(worth["mean"], ".3f") for worth in worths)]
            cells += [_shown(first["pbig/distance"]["mean"], ".4f"), _shown(first["pbig/same_title"]["mean"], ".1%")]
            print(f"| {one['seed']} | {policy} | " + " | ".join(cells) + " |")
    for taste in tastes:
        own = [one["differences"][taste] for one in rows]
        for one, difference in zip(rows, own, strict=True):
            shown = [_shown(difference[name], ".3f") for name in ("difference", "low", "high")]
            print(f"judge {taste}, seed {one['seed']}: own policy minus other {shown[0]} ({shown[1]} to {shown[2]})")
        over = mean_interval([one["difference"] for one in own if one["difference"] is not None])
        if over.low is not None and over.high is not None:
            print(f"judge {taste}, over {over.n} seeds: {over.mean:.3f} ({over.low:.3f} to {over.high:.3f})")


def _shown(value: float | None, form: str) -> str:
    return DASH if value is None else format(value, form)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=HERE / "ideas" / "two_tastes.yaml", help="the plan")
    parser.add_argument("--seeds", choices=("reporting", "choosing"), default="reporting", help="which of its seeds")
    return parser.parse_args()


def main() -> None:
    """Train what is missing, judge, print and write."""
    asked = arguments()
    with one_line_errors("two_tastes"):
        plan = yaml.safe_load(asked.config.read_text("utf-8"))
        if not (Path(plan["base"]) / "config.json").is_file():
            build(Path(plan["base"]))
        rows = [row(plan, seed) for seed in plan[asked.seeds]]
        write_json(Path(plan["output"]) / f"{asked.seeds}.json", {"plan": plan, "rows": rows})
        print_table(rows, plan["tastes"])


if __name__ == "__main__":
    main()
