"""A study's YAML: read, checked, and nothing run."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import pydantic
from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    TypeAdapter,
    ValidationError,
)

from sozo.data.errors import UserError
from sozo.data.prompts import prompt
from sozo.data.prompts.form import read_form, settled_form
from sozo.data.settings import from_validation, hint, read_yaml
from sozo.eval.draw import SamplingOptions
from sozo.models.needs import is_here
from sozo.models.nouns import RandomNouns
from sozo.models.settings import OF_FORM, GeneratorSettings
from sozo.models.tiny import tiny_seed
from sozo.scoring.embeddings.prompts import parts_of
from sozo.scoring.languages import LANGUAGES, read_nouns
from sozo.scoring.parse import NUM_WORDS
from sozo.studies.study.arms import PAPER, Arm, read_arms
from sozo.studies.study.claims import CLAIM_KEYS, Claim, Difference, check_claims
from sozo.studies.study.nouns import FILE
from sozo.tasks import task_type
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.words import PROMPTS
from sozo.training.estimates import Architecture, architecture_of

SAMPLING = (
    GeneratorSettings,
    SamplingOptions,
    DatSettings,
)  # the groups of flags of studies/study/sample.py
# Those that the study gives itself, or that mean nothing to DAT's one prompt; an arm may say `model`.
_OWN_FLAGS = {"source", "num_answers", "answers_per_item", "num_usable", "seed"}
FLAGS = {f.name for group in SAMPLING for f in fields(group)} - _OWN_FLAGS

NOUNS = "nouns"  # the step that lists those that the model spells best
_COUNTED = 64  # lists whose tokens are counted
# What a YAML says of the model that it names.
_OF_MODEL = ("architecture", "tokens", "paper_model")

Seeds = Annotated[
    list[Annotated[StrictInt, Field(ge=0)]],
    Field(min_length=1),
    AfterValidator(lambda seeds: list(dict.fromkeys(seeds))),
]


@dataclass(frozen=True)
class TrainingFiles:
    """Paths of YAML files: an accelerate config, and one for each method that an arm trains by without its own."""

    launcher: str
    sft: str | None = None
    dpo: str | None = None
    grpo: str | None = None


@dataclass(frozen=True)
class Tokens:
    """How many tokens the estimates of --dry-run assume."""

    prompt: StrictInt
    answer: StrictInt


_OF_TINY = Tokens(prompt=1, answer=21)  # whose tokenizer may still have to be built


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Study:
    """A study as its YAML describes it. Paths in `sampling` and `training` are relative to the YAML's folder."""

    model: str  # to train: a folder, a hub id or `tiny`; `{seed}` in it stands for each seed's own (`model_at`)
    output_dir: str  # where everything goes, a folder for each step
    num_answers: StrictInt  # for a row of the table (the paper: 131,072)
    seeds: Seeds  # all is made at each of them; sampling adds a number of its own
    sampling: dict[
        str, Any
    ]  # `launcher` (an accelerate config) and flags of studies/study/sample.py
    training: TrainingFiles
    file: Path  # the YAML
    # For --dry-run where the model's config.json and tokenizer are not to be had; the tokens may also be a guess.
    architecture: Architecture | None = None
    tokens: Tokens | None = None
    # That training data are chosen from (the paper: the same). Without `arms` they make the rows random, base and
    # DPO 1, so that nothing is sampled twice; arms' rows are all of `num_answers`.
    num_training_answers: StrictInt = 0
    top_k: StrictInt = 0  # best answers that SFT imitates
    num_pairs: StrictInt = 0  # of each DPO stage
    paper_model: str | None = None  # its name in the paper's Table 11, if it is there
    # Where they come from, if not the dictionary (`--nouns` of studies/study/sample.py); a number are as many that the
    # model's tokenizer spells best (studies/study/nouns.py).
    random_nouns: StrictStr | StrictInt | None = None
    arms: Any = None  # the rows; None are the paper's five methods and random nouns
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
    def language(self) -> str:
        """In which its rows ask for words."""
        return str(self.sampling.get("language", "ja"))

    @property
    def name(self) -> str:
        """That of the YAML's folder."""
        return self.file.resolve().parent.name

    @property
    def nouns(self) -> str | None:
        """Of random and frontier lists, as in `read_nouns`."""
        if isinstance(self.random_nouns, int):
            return str(Path(self.step_folder(NOUNS), FILE))
        return self.random_nouns

    @cached_property
    def shape(self) -> Architecture | None:
        """That of the model that is trained: its config.json's, or else the YAML's; None where neither can be had."""
        model = self.model_at(self.seeds[0])
        if Path(model).is_dir():
            return architecture_of(model)
        if self.architecture is None and is_here(model):
            return architecture_of(model)
        return self.architecture

    @cached_property
    def lengths(self) -> Tokens:
        """The YAML's tokens, or as the model's tokenizer counts the prompt and random lists."""
        return self.tokens or _counted(self)

    @cached_property
    def rows(self) -> tuple[Arm, ...]:
        """The arms that answer DAT, or the paper's."""
        arms = read_arms(PAPER if self.arms is None else self.arms, self.seeds, FLAGS)
        return tuple(arm for arm in arms if "task" not in dict(arm.flags))

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
        """A path of the YAML, as seen from the working directory where that is shorter."""
        path = (self.file.parent / relative).resolve()
        return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def load_study(
    path: Path, output_dir: str | None = None, model: str | None = None
) -> Study:
    """Read a study's YAML; `output_dir` and `model` go over the file's.

    What the YAML says of its own model is left out for another one, which has a folder of its own below the YAML's
    output_dir.
    """
    values = {"file": path} | read_yaml(path)
    if model:
        model = model.rstrip("/")
        for key in _OF_MODEL if model != values.get("model") else ():
            values.pop(key, None)
        values["model"] = model
        if "output_dir" in values:
            values["output_dir"] = f"{values['output_dir']}/{_folder_name(model)}"
    elif not values.get("model"):
        raise UserError(f"{path}: names no model; give yours by --model")
    if output_dir:
        values["output_dir"] = output_dir
    try:
        study = TypeAdapter(Study).validate_python(values)
    except ValidationError as error:
        in_claim = error.errors()[0]["loc"][:1] == ("claims",)
        raise from_validation(
            error,
            str(path),
            CLAIM_KEYS if in_claim else [f.name for f in fields(Study)],
        ) from error
    try:
        _check(study)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    return study


def _folder_name(model: str) -> str:
    """A model's name as that of one folder.

    >>> _folder_name("org/model-7B"), _folder_name("../runs/base/")
    ('org-model-7B', 'runs-base')
    """
    name = re.sub(r"[^\w.@+-]+", "-", model).strip("-.")
    return name or _folder_name(str(Path(model).resolve()))  # of the working directory


def _counted(study: Study) -> Tokens:
    """How many tokens the model's own tokenizer makes of the prompt, and of lists of the study's nouns on average."""
    from sozo.models.model_support import encode_text
    from sozo.models.weights import load_tokenizer, pinned
    from sozo.training.known_nouns import frequent_nouns

    model = study.model_at(study.seeds[0])
    if tiny_seed(model) is not None:
        return _OF_TINY
    given = study.sampling
    tokenizer = load_tokenizer(*pinned(model, given.get("model_revision")))
    system, arguments = map(given.get, OF_FORM)
    form = read_form(*settled_form(system, arguments, model))
    nouns: Sequence[str]
    if isinstance(study.random_nouns, int):
        nouns = frequent_nouns(tokenizer, study.language, study.random_nouns)
    else:
        nouns = read_nouns(study.random_nouns, study.language)
    lists = RandomNouns(nouns).answer([""] * _COUNTED, seed=0, batch=0)
    sizes = [len(tokenizer.encode(one.text)) for one in lists]
    text = prompt(PROMPTS[study.language])
    return Tokens(len(encode_text(tokenizer, text, form)), sum(sizes) // len(sizes))


def _check(study: Study) -> None:
    """What no single key shows."""
    for key in ("launcher", "max_new_tokens"):
        if key not in study.sampling:
            raise UserError(f"sampling: {key} is missing; give it")
    known = {"launcher"} | FLAGS - {"model"}
    for key in study.sampling:
        if key not in known:
            raise UserError(f"unknown setting in sampling: {key}" + hint(key, known))
    if study.language not in LANGUAGES:
        raise UserError(
            f"sampling: language must be {' or '.join(LANGUAGES)}, not {study.language}"
        )
    if isinstance(study.random_nouns, int) and study.random_nouns < NUM_WORDS:
        raise UserError(
            f"random_nouns {study.random_nouns}: a list has {NUM_WORDS}; give more, or a file of nouns"
        )
    check_claims(study.claims, study.exploratory, {arm.name: arm for arm in study.rows})
    for task in study.control_tasks:
        task_type(task)
    if study.control_tasks and not study.bases():
        raise UserError(
            "control_tasks compare with an arm named before; add before: {} to the arms"
        )
    for arm in study.rows:
        if arm.train and not (arm.config or getattr(study.training, arm.train)):
            raise UserError(
                f"training: {arm.train} is missing, by which the arm {arm.name} is trained; give it"
            )
    for key, arm in _counts(study):
        if getattr(study, key) < 1:
            raise UserError(
                f"{key} is missing, which the arm {arm.name} needs; give it"
            )
    files = [study.sampling["launcher"], *filter(None, astuple(study.training))]
    files += [arm.config for arm in study.rows if arm.config]
    for name in map(str, files):
        if not study.path(name).is_file():
            raise UserError(f"names {name}, but there is no {study.path(name)}")
    if study.second_encoder:
        default = {"embedding_model": LANGUAGES[study.language].encoder}
        settings = [default | study.sampling, *(dict(arm.flags) for arm in study.rows)]
        used = set(
            _encoders(
                [*settings, *(read_yaml(study.path(str(name))) for name in files)]
            )
        )
        if shared := sorted(
            used.intersection(_encoders({"embedding_model": study.second_encoder}))
        ):
            raise UserError(
                f"second_encoder {study.second_encoder}: the study scores or trains by {shared[0]}; "
                "name an encoder that no arm uses"
            )


def _counts(study: Study) -> Iterator[tuple[str, Arm]]:
    """Which counts are needed, and by which arm."""
    for arm in study.rows:
        flags = dict(arm.flags)
        if arm.answers and not arm.num_training_answers:
            yield "num_training_answers", arm
        if arm.train == "sft" and "top_k" not in flags:
            yield "top_k", arm
        if arm.train == "dpo" and "num_pairs" not in flags:
            yield "num_pairs", arm


def _encoders(settings: Any) -> Iterator[str]:
    """Every encoder that settings name at any depth, without its prompt; a consensus by its parts."""
    if isinstance(settings, list):
        for value in settings:
            yield from _encoders(value)
    if isinstance(settings, Mapping):
        for key, value in settings.items():
            if key in ("embedding_model", "frontier_encoder") and value is not None:
                yield from parts_of(str(value))
            else:
                yield from _encoders(value)
