"""What a method can be told of its own: read without TRL, which takes seconds to import; `--help` lists it first."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import PositiveInt, TypeAdapter, ValidationError

from sozo.data.errors import UserError
from sozo.data.foreign import quoted
from sozo.data.settings import from_json, setting
from sozo.training.batches import whole_steps
from sozo.training.entries import tasks_of
from sozo.training.words import WordArguments

# TRL's fields that decide nothing: where a run writes, what it is called and what it keeps. Of ours each says so itself.
FREE = {
    "output_dir",
    "resume_from_checkpoint",
    "run_name",
    "report_to",
    "logging_dir",
    "logging_steps",
    "save_strategy",
    "save_steps",
    "save_total_limit",
    "push_to_hub",
    # What they shard is told by `sharding`.
    "deepspeed",
    "fsdp",
    "fsdp_config",
}
_COUNTS = TypeAdapter(dict[str, PositiveInt])
# Settings that cut or bend the model's own distribution, and the values that do not: vLLM's correction needs it as it is,
# and the sampler shared_prefix draws by none of them.
_NEUTRAL: dict[str, tuple] = {
    "top_k": (0, None),
    "top_p": (1.0, None),
    "min_p": (0.0, None),
    "repetition_penalty": (1.0, None),
    "generation_kwargs": (None, {}),
}


@dataclass
class CommonArguments:
    """What every method can be told."""

    share_prompt: bool = setting(
        True,
        "The loss computes a prompt once for a micro-batch, not for each answer.",
    )
    system_prompt: str | None = setting(
        None,
        "System message before each prompt (default: what the model was trained with, else none).",
    )
    embedding_rate: float = setting(
        1.0,
        "The embeddings' learning rate as a share of the others' (and a tied output layer's); 0 freezes them.",
    )

    callbacks: list[str] | None = setting(  # noqa: RUF009
        None, "Callbacks of your own for the trainer: dotted paths of transformers'."
    )
    evaluate: dict | str | None = setting(  # noqa: RUF009
        None,
        "What is sampled and scored every n steps, and what must hold of its values (JSON).",
    )

    def check(self, training: Any) -> None:
        """Refuse what cannot work together with TRL's settings."""


@dataclass
class GrpoArguments(WordArguments, CommonArguments):
    """What is asked, who draws the answers, and what is paid for them.

    `tasks` holds entries as `training.entries.Entry` describes them, or names of tasks; on the command line names, or
    mappings in JSON. num_prompts (the paper: 4,096) is of every entry that says nothing
    else. The sampler `shared_prefix` is sozo's generator, which computes each prompt once; `trl` is TRL's own.
    """

    tasks: list[Any] | None = setting(  # noqa: RUF009
        None, "What is asked: names of tasks, or mappings."
    )
    num_prompts: int | None = setting(
        None, "Prompts of each task in one epoch (default: each of its items once)."
    )
    sampler: Literal["shared_prefix", "trl", "vllm"] | None = setting(
        None,
        "shared_prefix, trl or vllm (default: shared_prefix, or vllm with use_vllm).",
    )
    canary_steps: int = setting(
        10,
        "vLLM: compare its log-probabilities with the trainer's every so many steps (0: never).",
        affects_result=False,
    )

    def __post_init__(self) -> None:
        if self.tasks is None:
            raise UserError(
                "tasks is missing: a list of what is asked, as in recipes/tiny/grpo.yaml"
            )
        self.tasks = tasks_of(self.tasks)  # type: ignore[assignment]

    def check(self, training: Any) -> None:
        """Settle the sampler; refuse what contradicts `training`."""
        if self.sampler is None:
            self.sampler = "vllm" if training.use_vllm else "shared_prefix"
        if training.use_vllm and self.sampler != "vllm":
            raise UserError(
                f"sampler {self.sampler} and use_vllm true contradict each other; take one of them out"
            )
        training.use_vllm = self.sampler == "vllm"
        if self.sampler == "trl":
            return
        bent = [
            f"{name} {value}"
            for name, neutral in _NEUTRAL.items()
            if (value := getattr(training, name)) not in neutral
        ]
        if bent:
            # vLLM's log-probabilities are of what is left, the trainer's of the whole distribution.
            why = "draws from the model's own distribution and cannot follow"
            why = "would correct by a biased ratio with" if training.use_vllm else why
            raise UserError(
                f"sampler {self.sampler} {why} {', '.join(bent)}; leave it out (top_k 0, top_p 1), or take sampler trl"
            )


@dataclass
class GrpoPerStep:
    """What TRL's GRPOConfig has besides (the paper: 256), so that one YAML fits any number of GPUs."""

    completions_per_step: int | None = setting(
        None,
        "Completions per optimizer step over all processes; sets gradient_accumulation_steps.",
    )
    # TRL's own masks a whole sequence: of answers of 400 tokens nearly all, whatever the engine's rounding.
    vllm_importance_sampling_mode: str = setting(
        "token_truncate", "How vLLM's log-probabilities are corrected."
    )


@dataclass
class TableArguments(CommonArguments):
    """What both can be told: finished runs of any task, or tables of DAT answers."""

    count: ClassVar[str]
    answers: list[str] | None = setting(  # noqa: RUF009
        None,
        "A finished run's folder, a folder of parquet parts or one part; several are a mix.",
        affects_result=False,
    )  # what it holds is compared, not where it is

    def __post_init__(self) -> None:
        if isinstance(self.answers, str):
            self.answers = [self.answers]

    def check(self, training: Any) -> None:
        """Refuse a missing table, and too few examples for a step."""
        if not self.answers:
            raise UserError(
                "answers is missing: --answers DIR, a folder that sozo dat or sozo run wrote"
            )
        whole_steps(self.count, getattr(self, self.count), training)


def read_beside(value: Any) -> dict[str, int]:
    """How many usable answers of which folder are imitated beside others; a UserError for what says something else."""
    try:
        return _COUNTS.validate_python(from_json(value, "beside") or {}, strict=True)
    except ValidationError as error:
        raise UserError(
            'beside maps folders to how many of their answers, such as {"runs/own/sentences": 160}, '
            f"and is {quoted(value)}"
        ) from error


@dataclass
class SftArguments(TableArguments):
    """The data of SFT (the paper: the best 16,384 of 131,072 answers of random nouns)."""

    count = "top_k"
    top_k: int = setting(
        16384,
        "How many of the highest-scoring answers to imitate; each prompt gives its share.",
    )
    beside: dict | str | None = setting(  # noqa: RUF009
        None,
        "Beside these, at most so many usable answers of other folders, or rows of your own (JSON).",
        affects_result=False,
    )  # as for answers
    word_targets: bool = setting(
        False,
        "The target of a word is what it was drawn from: of a frontier, word by word.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.beside = read_beside(self.beside)

    def check(self, training: Any) -> None:
        """Refuse besides what joins lists into one row, where none could be told from another."""
        super().check(training)
        if self.word_targets and (training.packing or training.padding_free):
            raise UserError(
                "word_targets needs each answer in a row of its own; take packing and padding_free out"
            )


@dataclass
class DpoArguments(TableArguments):
    """The data of DPO (the paper: the best and the worst 16,384 of 131,072 of the model itself)."""

    count = "num_pairs"
    num_pairs: int = setting(
        16384,
        "Pairs of a high- and a low-scoring answer to a prompt; each gives its share.",
    )
    pairs: Literal["paper", "usable"] = setting(
        "paper",
        "paper; of usable answers only: usable.",
    )


@dataclass
class TablePerStep:
    """TRL's configuration with the examples of a step (the paper: 256), and what GRPO's has already."""

    examples_per_step: int | None = setting(
        None,
        "Examples per optimizer step over all processes; sets gradient_accumulation_steps.",
    )
    chat_template_kwargs: dict | str | None = setting(  # noqa: RUF009
        None, "Arguments of the chat template (JSON), as GRPO has them."
    )
