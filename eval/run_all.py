"""Several models through several benchmarks: each pair is a run's folder of its own, OUTPUT/MODEL/BENCHMARK."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eval.commands import sample_dat
from eval.options import AnsweringOptions, JcqOptions, SamplingOptions, SatOptions
from eval.targets import Target, Targets, write_studies
from generate.load import GeneratorSettings
from rewards.judges.options import JudgeOptions
from rewards.tasks.dat.scorer import ScorerSettings
from rewards.tasks.jcq.judging import asked_judge
from rewards.tasks.jcq.run import run_jcq
from rewards.tasks.sat.run import SatSettings, sample_sat

BENCHMARKS = ("dat", "jcq", "sat")


def run_all(
    targets: Targets,
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
) -> Iterator[tuple[Target, Any]]:
    """Run them one after the other, and give each model's finished run; what was finished is not computed again.

    What can be wrong with a model's name or the judge is found before the first one is loaded.

    Args:
        targets: The models (`eval.targets`).
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
        ValueError: No such benchmark, no model, or as the benchmark's own command.
        OSError: As the benchmark's own command.
    """
    unknown = [name for name in benchmarks if name not in BENCHMARKS]
    if unknown or not benchmarks:
        raise ValueError(f"benchmarks are {', '.join(BENCHMARKS)}, not {', '.join(unknown) or 'none'}")
    if not targets.models:
        raise ValueError("give at least one --model")
    for target in targets.models:
        replace(generator, model=target.model).settled()
    if "jcq" in benchmarks:
        asked_judge(judging)
    left = judging.max_cost
    write_studies(output, targets.studies)
    for target in targets.models:
        settings = replace(generator, model=target.model, source=target.source)
        for benchmark in dict.fromkeys(benchmarks):
            folder = output / target.folder / benchmark
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
                yield target, finished
