"""The steps a study stands for: which command makes what, from what."""

from dataclasses import dataclass, fields
from pathlib import Path

from data.study_folder import StudyRow
from generate import GeneratorSettings
from study.config import Study

_MODEL_FLAGS = {f.name for f in fields(GeneratorSettings)}  # of recipes/sample_dat.py; random nouns know none of them


@dataclass(frozen=True)
class Step:
    """One command of the study."""

    name: str  # also the name of its folder
    script: str  # the recipe's file name
    flags: dict[str, str]  # its flags, in order
    inputs: tuple[str, ...] = ()  # steps whose output it reads
    config: Path | None = None  # the method's YAML, if it has one
    launcher: Path | None = None  # an accelerate config; None starts the recipe with plain Python
    arguments: tuple[str, ...] = ()  # what follows the flags

    def command(self, launch: list[str], python: str = "python") -> list[str]:
        """The words of the command; `launch` are those of `accelerate launch`."""
        script = Path(__file__).parents[1] / self.script
        shown = script.relative_to(Path.cwd()) if script.is_relative_to(Path.cwd()) else script
        words = [*launch, "--config_file", str(self.launcher)] if self.launcher else [python]
        words += [str(shown), *(["--config", str(self.config)] if self.config else [])]
        words += [word for flag, value in self.flags.items() for word in (f"--{flag}", value)]
        return [*words, *self.arguments]


def study_steps(study: Study) -> list[Step]:
    """The steps in order: the paper's section 5.1. SFT, DPO 1 and GRPO start from the model, DPO 2 from DPO 1."""
    big, small, pairs = study.num_training_responses, study.num_responses, {"num_pairs": study.num_pairs}
    steps = [
        _sample(study, "random", 0, big, model="random"),
        _sample(study, "base", 1, big, model=study.model),
        _train(study, "sft", "sft", {"top_k": study.top_k}, responses="random"),
        _sample(study, "sft-sample", 2, small, step="sft"),
        _train(study, "dpo1", "dpo", pairs, responses="base"),
        _sample(study, "dpo1-sample", 3, big, step="dpo1"),
        _train(study, "dpo2", "dpo", pairs, responses="dpo1-sample", step="dpo1"),
        _sample(study, "dpo2-sample", 4, small, step="dpo2"),
        _train(study, "grpo", "grpo", {}),
        _sample(study, "grpo-sample", 5, small, step="grpo"),
    ]
    flags, rows = {"output_dir": study.step_folder("table"), "title": f"Table 11: {study.model}"}, study_rows(study)
    flags |= {"paper_model": study.paper_model} if study.paper_model else {}
    tables = tuple(row.responses.name for row in rows.values())
    arguments = ("--rows", *(f"{name}={row.responses}" for name, row in rows.items()))
    return [*steps, Step("table", "table11.py", flags, tables, arguments=arguments)]


def study_rows(study: Study) -> dict[str, StudyRow]:
    """The rows of the paper's tables, each with its model and its step of responses."""
    models = {"random": (None, "random"), "base": (study.model, "base")}
    for name, step in (("SFT", "sft"), ("DPO 1", "dpo1"), ("DPO 2", "dpo2"), ("GRPO", "grpo")):
        models[name] = (study.step_folder(step), f"{step}-sample")
    return {name: StudyRow(model, Path(study.step_folder(step))) for name, (model, step) in models.items()}


def _sample(study: Study, name: str, number: int, count: int, *, model: str = "", step: str = "") -> Step:
    """Draw `count` responses of `model`, or of the model that `step` trains."""
    left_out = {"launcher"} | (_MODEL_FLAGS if model == "random" else set())
    options = {key: value for key, value in study.sampling.items() if key not in left_out}
    options |= {"nouns": study.random_nouns} if model == "random" and study.random_nouns else {}
    flags = {
        "model": model or study.step_folder(step),
        "num_responses": count,
        # Their own randomness: DPO 2's responses are fresh, not those of DPO 1 with the same random numbers.
        "seed": study.seed + number,
        "source": name.removesuffix("-sample"),
        "output_dir": study.step_folder(name),
        **options,
    }
    words, launcher = {key: str(value) for key, value in flags.items()}, study.path(study.sampling["launcher"])
    return Step(name, "sample_dat.py", words, (step,) if step else (), launcher=launcher)


def _train(
    study: Study, name: str, method: str, counts: dict[str, int], *, responses: str = "", step: str = ""
) -> Step:
    """Train the study's model, or that of `step`, by `method`, on the responses of another step."""
    flags = {"model_name_or_path": study.step_folder(step) if step else study.model}
    flags |= {"responses": study.step_folder(responses)} if responses else {}
    flags |= {key: str(value) for key, value in counts.items()}
    flags |= {"seed": str(study.seed), "output_dir": study.step_folder(name), "run_name": f"{study.name}-{name}"}
    inputs = tuple(filter(None, (step, responses)))
    config, launcher = study.path(study.training[method]), study.path(study.training["launcher"])
    return Step(name, f"{method}_dat.py", flags, inputs, config, launcher)
