"""A study's YAML: read, checked, and nothing run."""

import os
import re
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import pydantic
from pydantic import (
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    TypeAdapter,
    ValidationError,
)

from sozo.data.errors import UserError
from sozo.data.settings import from_validation, read_yaml
from sozo.models.needs import is_here, values_of
from sozo.scoring.embeddings.prompts import parts_of
from sozo.scoring.languages import LANGUAGES
from sozo.studies.study.arms import PAPER, Arm, Name, complete
from sozo.studies.study.claims import CLAIM_KEYS, Claim, Difference, check_claims
from sozo.training.estimates import Architecture, architecture_of

NOUNS = "nouns"  # the step that lists those that the model spells best
NOUNS_FILE = "nouns.txt"  # in its folder

Seeds = Annotated[list[Annotated[StrictInt, Field(ge=0)]], Field(min_length=1)]


@dataclass(frozen=True)
class TrainingFiles:
    """Paths of YAML files: an accelerate config, and one for each method that an arm trains by without its own."""

    launcher: str
    sft: str | None = None
    dpo: str | None = None
    grpo: str | None = None


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Study:
    """A study as its YAML describes it. Paths in `sampling` and `training` are relative to the YAML's folder."""

    model: str  # to train: a folder, a hub id or `tiny`; `{seed}` in it stands for each seed's own (`model_at`)
    output_dir: str  # where everything goes, a folder for each step
    num_answers: StrictInt  # for a row of the table (the paper: 131,072)
    seeds: Seeds  # all is made at each of them; sampling adds a number of its own
    sampling: dict[
        str, Any
    ]  # flags of `sozo dat`, and a `launcher` (an accelerate config) if not the trainings'
    training: TrainingFiles
    file: Path  # the YAML
    # For --dry-run where the model's config.json is not to be had.
    architecture: Architecture | None = None
    # That training data are chosen from (the paper: the same). Without `arms` they make the rows random, base and
    # DPO 1, so that nothing is sampled twice; arms' rows are all of `num_answers`. None: `num_answers`.
    num_training_answers: StrictInt | None = None
    top_k: StrictInt | None = None  # best answers that SFT imitates
    num_pairs: StrictInt | None = None  # of each DPO stage
    paper_model: str | None = None  # its name in the paper's Table 11, if it is there
    # Where they come from, if not the dictionary (`--nouns` of `sozo dat`); a number are as many that the model's
    # tokenizer spells best (`sozo nouns`).
    random_nouns: StrictStr | StrictInt | None = None
    arms: dict[Name, Arm] | None = Field(
        default=None, min_length=1
    )  # the rows; None are the paper's five methods and random nouns
    claims: list[Claim] = Field(
        default_factory=list
    )  # what its arms will show, written beforehand
    exploratory: list[Difference] = Field(
        default_factory=list
    )  # shown with intervals, without a verdict
    second_encoder: str | None = (
        None  # an encoder that no arm is trained on, by which gains are measured too
    )
    control_tasks: dict[str, dict[str, Any]] = Field(
        default_factory=dict
    )  # by which rows are compared with the model before any training; of each its settings
    keep_checkpoints: StrictBool = False  # of finished steps, too

    @property
    def name(self) -> str:
        """That of the YAML's folder."""
        return self.file.resolve().parent.name

    @property
    def nouns(self) -> str | None:
        """Of random and frontier lists, as in `read_nouns`."""
        if isinstance(self.random_nouns, int):
            return str(Path(self.step_folder(NOUNS), NOUNS_FILE))
        return self.random_nouns

    @cached_property
    def shape(self) -> Architecture | None:
        """That of the model that is trained: its config.json's, or else the YAML's; None where neither can be had."""
        model = self.model_at(self.seeds[0])
        if Path(model).is_dir() or (self.architecture is None and is_here(model)):
            return architecture_of(model)
        return self.architecture

    @cached_property
    def every_arm(self) -> dict[str, Arm]:
        """The arms, or the paper's."""
        return complete(PAPER if self.arms is None else self.arms, self.seeds)

    @property
    def rows(self) -> list[Arm]:
        """The arms that answer DAT."""
        return [arm for arm in self.every_arm.values() if "task" not in arm.flags]

    @property
    def points(self) -> list[tuple[Arm, int]]:
        """Every arm at each of its seeds, seed by seed."""
        return [
            (arm, seed) for seed in self.seeds for arm in self.rows if seed in arm.seeds
        ]

    def at(self, name: str, seed: int) -> str:
        """A step's or a row's name at a seed: at the study's first it is the plain one."""
        return name if seed == self.seeds[0] else f"{name}@{seed}"

    def bases(self, *names: str) -> dict[str, str]:
        """Of each row the first arm of these `names` at its seed, or what gains are over; empty without such an arm."""
        arms = {arm.name: arm for arm in self.rows}
        base = next((n for n in (*names, "start", "base", "before") if n in arms), None)
        if base is None:
            return {}
        return {
            self.at(arm.name, seed): self.at(base, arms[base].seed(seed))
            for arm, seed in self.points
            if arm.name != base
        }

    def model_at(self, seed: int) -> str:
        """The model that is trained at a seed."""
        return self.model.replace("{seed}", str(seed))

    def step_folder(self, step: str) -> str:
        """Where a step writes."""
        return str(Path(self.output_dir) / step)

    def path(self, relative: str) -> Path:
        """A path of the YAML, as seen from the working directory."""
        return Path(os.path.normpath(self.file.parent / relative))


def load_study(
    path: Path, output_dir: str | None = None, model: str | None = None
) -> Study:
    """Read a study's YAML; `output_dir` and `model` go over the file's.

    What the YAML says of its own model is left out for another one, which has a folder of its own below the YAML's
    output_dir, unless `output_dir` is given.
    """
    values = read_yaml(path) | {"file": path}
    if model and model != values.get("model"):
        for key in ("architecture", "paper_model"):  # of the model that it names
            values.pop(key, None)
    if model and "output_dir" in values:
        name = re.sub(r"[^\w.@+-]+", "-", model).strip("-.")
        values["output_dir"] = f"{values['output_dir']}/{name}"
    given = {"output_dir": output_dir, "model": model}
    values |= {key: value for key, value in given.items() if value}
    try:
        study = TypeAdapter(Study).validate_python(values)
    except ValidationError as error:
        known = [*CLAIM_KEYS, *(field.name for field in fields(Study))]
        raise from_validation(error, str(path), known) from error
    try:
        _check(study)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    return study


def _check(study: Study) -> None:
    """What no single key shows, and no step's own command."""
    check_claims(study.claims, study.exploratory, {arm.name: arm for arm in study.rows})
    if study.control_tasks and not study.bases():
        raise UserError(
            "control_tasks compare with an arm named before; add before: {} to the arms"
        )
    files = list(filter(None, astuple(study.training)))
    for arm in study.rows:
        files += [arm.config] if arm.config else []
        if arm.train and not (arm.config or getattr(study.training, arm.train)):
            raise UserError(
                f"training: {arm.train} is missing, by which the arm {arm.name} is trained; give it"
            )
    if study.second_encoder:
        default = {
            "embedding_model": LANGUAGES[study.sampling.get("language", "ja")].encoder
        }
        settings = [default | study.sampling, *(arm.flags for arm in study.rows)]
        settings += [read_yaml(study.path(name)) for name in files]
        keys = ("embedding_model", "frontier_encoder")
        named = set().union(*(values_of(settings, key) for key in keys))
        used = {part for name in named for part in parts_of(name)}
        if shared := sorted(used.intersection(parts_of(study.second_encoder))):
            raise UserError(
                f"second_encoder {study.second_encoder}: the study scores or trains by {shared[0]}; "
                "name an encoder that no arm uses"
            )
