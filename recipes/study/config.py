"""A study's YAML: read, checked, and nothing run."""

from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from sozo.data.errors import UserError
from sozo.eval.draw import SamplingOptions
from sozo.models.settings import GeneratorSettings
from sozo.tasks.dat.scorer import DatSettings
from study.arm import Arm
from study.arms import PAPER, read_arms
from study.claims import Claim, read_claims
from study.estimates import Architecture
from study.guards import check_guards

SAMPLING = (GeneratorSettings, SamplingOptions, DatSettings)  # the groups of flags of recipes/sample_dat.py
# Those that the study gives itself, or that mean nothing to DAT's one prompt; an arm may say `model`.
_OWN_FLAGS = {"source", "num_responses", "num_answers", "trials", "seed"}
FLAGS = {f.name for group in SAMPLING for f in fields(group)} - _OWN_FLAGS


@dataclass(frozen=True)
class Study:
    """A study as its YAML describes it. Paths in `sampling` and `training` are relative to the YAML's folder."""

    model: str  # to train: a folder, a hub id or `tiny`
    output_dir: str  # where everything goes, a folder for each step
    num_responses: int  # for a row of the table (the paper: 131,072)
    # That training data are chosen from (the paper: the same). Without `arms` they make the rows random, base and
    # DPO 1, so that nothing is sampled twice; arms' rows are all of `num_responses`.
    num_training_responses: int
    top_k: int  # best responses that SFT imitates
    num_pairs: int  # of each DPO stage
    seeds: tuple[int, ...]  # all is made at each of them; sampling adds a number of its own
    sampling: dict[str, Any]  # `launcher` (an accelerate config) and flags of recipes/sample_dat.py
    training: dict[str, str]  # `launcher`, and the method's YAML for `sft`, `dpo` and `grpo`
    architecture: Architecture  # for the estimates of --dry-run
    tokens: dict[str, int]  # of `prompt` and `response`, for the same
    paper_model: str | None = None  # its name in the paper's Table 11, if it is there
    random_nouns: str | None = None  # where they come from, if not from JumanDIC (`--nouns` of recipes/sample_dat.py)
    arms: tuple[Arm, ...] | None = None  # the rows; None are the paper's five methods and random nouns
    claims: tuple[Claim, ...] = ()  # what its arms will show, said beforehand
    guard: str | None = None  # an encoder that no arm is trained on, by which gains are measured too
    guards: tuple[str, ...] = ()  # tasks by which a trained row's understanding is compared with its base's
    keep_checkpoints: bool = False  # of finished steps, too
    name: str = "study"
    file: Path = Path()  # the YAML

    @property
    def rows(self) -> tuple[Arm, ...]:
        """The arms, or the paper's."""
        return self.arms or read_arms(PAPER, self.seeds, FLAGS)

    def at(self, name: str, seed: int) -> str:
        """A step's or a row's name at a seed: at the study's first it is the plain one."""
        return name if seed == self.seeds[0] else f"{name}@{seed}"

    def bases(self) -> dict[str, str]:
        """Of each row the arm `base` at its seed, by their names; empty in a study that has no such arm."""
        base = next((arm for arm in self.rows if arm.name == "base"), None)
        others = [(arm, seed) for arm in self.rows if base and arm != base for seed in arm.seeds]
        return {self.at(arm.name, seed): self.at("base", base.seed(seed)) for arm, seed in others if base}

    def step_folder(self, step: str) -> str:
        """Where a step writes."""
        return str(Path(self.output_dir) / step)

    def path(self, relative: str) -> Path:
        """A path of the YAML, as seen from the working directory where that is shorter."""
        path = (self.file.parent / relative).resolve()
        return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def load_study(path: Path, output_dir: str | None = None) -> Study:
    """Read a study's YAML; `output_dir` goes over the file's."""
    values = read_yaml(path)
    known = {f.name: f for f in fields(Study) if f.name not in ("name", "file")}
    if unknown := sorted(set(values) - set(known)):
        raise UserError(f"{path}: unknown setting: {', '.join(unknown)}; there are {', '.join(known)}")
    if missing := [name for name, f in known.items() if name not in values and f.default is MISSING]:
        raise UserError(f"{path}: {', '.join(missing)} is missing; recipes/tiny/reproduce.yaml is an example")
    try:
        values["architecture"] = Architecture(**values["architecture"])
    except TypeError as error:
        raise UserError(f"{path}: architecture: {error}") from error
    training, tokens = {"launcher", "sft", "dpo", "grpo"}, {"prompt", "response"}
    sampling = ("sampling", {"launcher", "max_new_tokens"}, {"launcher"} | FLAGS - {"model"})
    for section, needed, allowed in (sampling, ("training", training, training), ("tokens", tokens, tokens)):
        if not isinstance(values[section], dict) or not needed <= set(values[section]):
            raise UserError(f"{path}: {section} needs {', '.join(sorted(needed))}")
        if wrong := sorted(set(values[section]) - allowed):
            raise UserError(f"{path}: unknown setting in {section}: {', '.join(wrong)}")
    if type(values.get("keep_checkpoints", False)) is not bool:
        raise UserError(f"{path}: keep_checkpoints must be true or false, not {values['keep_checkpoints']}")
    values["output_dir"] = output_dir or values["output_dir"]
    seeds = values["seeds"]
    if not isinstance(seeds, list) or not seeds or any(type(seed) is not int or seed < 0 for seed in seeds):
        raise UserError(f"{path}: seeds must be a list such as [0, 1, 2], not {seeds}")
    values["seeds"] = tuple(dict.fromkeys(seeds))
    try:
        if "arms" in values:
            values["arms"] = read_arms(values["arms"], values["seeds"], FLAGS)
        if "claims" in values:
            arms = values.get("arms") or read_arms(PAPER, values["seeds"], FLAGS)
            values["claims"] = read_claims(values["claims"], {arm.name: arm for arm in arms})
        if "guards" in values:
            values["guards"] = check_guards(values["guards"])
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    study = Study(**values, name=path.resolve().parent.name, file=path)
    if study.guards and not study.bases():
        raise UserError(f"{path}: guards compare with an arm named base; add base: {{}} to the arms")
    for name in [study.sampling["launcher"], *study.training.values(), *(arm.config for arm in study.rows)]:
        if name and not study.path(name).is_file():
            raise UserError(f"{path}: names {name}, but there is no {study.path(name)}")
    return study


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file."""
    try:
        values = yaml.safe_load(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file; recipes/tiny/reproduce.yaml is an example") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"{path}: cannot be read as YAML ({' '.join(str(error).split())[:200]})") from error
    if not isinstance(values, dict):
        raise UserError(f"{path}: must hold lines `setting: value`")
    return values
