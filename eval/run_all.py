"""Several models through several benchmarks: each pair is a run's folder of its own, OUTPUT/MODEL/BENCHMARK."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eval.commands import sample_dat
from eval.generate.load import GeneratorSettings
from eval.jcq_run import run_jcq
from eval.options import AnsweringOptions, JcqOptions, JudgeOptions, SamplingOptions, SatOptions
from eval.sat.run import SatSettings, sample_sat
from models.adapter import ADAPTER_FILE
from rewards.dat import ScorerSettings

BENCHMARKS = ("dat", "jcq", "sat")


def expand_models(models: Sequence[str]) -> dict[str, str]:
    """Models by the names of their folders; a training output is its checkpoints, in order of steps, and its end.

    Raises:
        ValueError: A model is given twice, or two would share a folder.

    >>> expand_models(["org/model-7b", "tiny"])
    {'model-7b': 'org/model-7b', 'tiny': 'tiny'}
    """
    named: dict[str, str] = {}
    for given in models:
        path = Path(given)
        base = path.resolve().name if path.is_dir() else given.rstrip("/").rpartition("/")[2]
        checkpoints = sorted(path.glob("checkpoint-*"), key=lambda p: int(re.sub(r"\D", "", p.name) or 0))
        found = [(f"{base}/{one.name}", str(one)) for one in checkpoints if _is_model(one)]
        if not found or _is_model(path):
            found.append((f"{base}/final" if found else base, given))
        for name, model in found:
            if name in named:
                raise ValueError(f"two models would go to the folder {name}: {named[name]} and {model}; rename one")
            named[name] = model
    return named


def run_all(
    models: Sequence[str],
    benchmarks: Sequence[str],
    output: Path,
    *,
    generator: GeneratorSettings,
    sampling: SamplingOptions,
    answering: AnsweringOptions,
    scorer: ScorerSettings,
    jcq: JcqOptions,
    judging: JudgeOptions,
    sat: SatOptions,
) -> Iterator[Any]:
    """Run them one after the other, and give each finished run; what was finished before is not computed again.

    Args:
        models: Folders (a training output stands for its checkpoints too), hub ids, `tiny`, or names on `base_url`.
        benchmarks: Of `BENCHMARKS`.
        output: OUTPUT/MODEL/BENCHMARK is a run's folder, as the benchmark's own command makes it.
        generator: How they write; `model` and `source` are set here.
        sampling: Of DAT.
        answering: Of JCQ and SAT.
        scorer: Of DAT.
        jcq: The questions.
        judging: The judge; `max_cost` is for all models together.
        sat: The stories and their encoder.

    Raises:
        ValueError: No such benchmark, a model given twice, or as the benchmark's own command.
        OSError: As the benchmark's own command.
    """
    unknown = [name for name in benchmarks if name not in BENCHMARKS]
    if unknown or not benchmarks:
        raise ValueError(f"benchmarks are {', '.join(BENCHMARKS)}, not {', '.join(unknown) or 'none'}")
    named = expand_models(models)
    if not named:
        raise ValueError("give at least one --model")
    left = judging.max_cost
    for name, model in named.items():
        settings = replace(generator, model=model, source=name)
        for benchmark in dict.fromkeys(benchmarks):
            folder = output / name / benchmark
            finished: Any
            if benchmark == "dat":
                finished = sample_dat(settings, sampling, folder, scorer)
            elif benchmark == "jcq":
                finished = run_jcq(settings, answering, jcq, replace(judging, max_cost=left), folder)
                if left is not None and finished is not None:
                    left = max(0.0, left - finished.metrics["cost_at_most"])
            else:
                finished = sample_sat(settings, answering, folder, SatSettings.of(sat))
            if finished is not None:  # of several processes the first one has the numbers
                yield finished


def _is_model(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("config.json", ADAPTER_FILE))
