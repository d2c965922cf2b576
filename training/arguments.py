"""What a method can be told of its own: read without TRL, which takes seconds to import; `--help` lists it first."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import starmap
from typing import Any, ClassVar, Literal

from pydantic import PositiveInt, TypeAdapter, ValidationError

from sozo.data.errors import UserError
from sozo.data.foreign import quoted
from sozo.data.settings import from_json, setting
from sozo.training.batches import completions
from sozo.training.entries import Entry, read_entries, tasks_of
from sozo.training.selection import to_stand_beside
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

    # A method of TRL's settings, for the plan: what an epoch is made of, how many of these a step takes, and how many
    # there are. None: nobody knows before.
    epoch: ClassVar[Any] = None
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
        least=0,
    )

    callbacks: list[str] | None = setting(  # noqa: RUF009
        None,
        "Callbacks of your own for the trainer: dotted paths of classes of transformers'.",
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
        least=0,
    )

    def __post_init__(self) -> None:
        self.tasks = tasks_of(self.tasks)  # type: ignore[assignment]

    @cached_property
    def entries(self) -> Sequence[Entry]:
        """What `tasks` says, read."""
        return read_entries(self.tasks, self.num_prompts)

    def epoch(self, training: Any) -> tuple[str, int, int]:
        """Completions; refuses an epoch that leaves a generation unfilled."""
        prompts = sum(entry.count for entry in self.entries)
        return (
            "completions",
            training.completions_per_step,
            completions(prompts, training),
        )

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
            # Of vLLM, whose log-probabilities are of what is left and the trainer's of the whole distribution.
            raise UserError(
                f"sampler {self.sampler} is to draw from the model's own distribution, not with {', '.join(bent)}; "
                "leave it out (top_k 0, top_p 1), or take sampler trl"
            )


@dataclass
class GrpoPerStep:
    """What TRL's GRPOConfig has besides (the paper: 256), so that one YAML fits any number of GPUs."""

    completions_per_step: int | None = setting(
        None,
        "Completions per optimizer step over all processes; sets gradient_accumulation_steps.",
        least=1,
    )
    # TRL refuses others at the first step.
    loss_type: Literal[
        "grpo", "dr_grpo", "dapo", "bnpo", "cispo", "sapo", "luspo", "vespo"
    ] = setting("dapo", "How the loss of completions is summed.")
    # TRL's own masks a whole sequence: of answers of 400 tokens nearly all, whatever the engine's rounding.
    vllm_importance_sampling_mode: str = setting(
        "token_truncate", "How vLLM's log-probabilities are corrected."
    )


@dataclass
class TableArguments(CommonArguments):
    """What both can be told: finished runs of any task, or tables of DAT answers."""

    count: ClassVar[str]
    items: ClassVar[str] = "examples"
    answers: list[str] | None = setting(  # noqa: RUF009
        None,
        "A finished run's folder, a folder of parquet parts or one part; several are a mix.",
        affects_result=False,
    )  # what it holds is compared, not where it is

    def check(self, training: Any) -> None:
        """Refuse a missing table."""
        if not self.answers:
            raise UserError(
                "answers is missing: --answers DIR, a folder that sozo dat or sozo run wrote"
            )

    def step(self, training: Any) -> int:
        """Of which number an epoch's examples are a multiple; refuses so few that they fill no step."""
        count = getattr(self, self.count)
        batch = training.examples_per_step
        if count < batch:
            raise UserError(
                f"{self.count} {count} does not fill a step of {batch} (examples_per_step); change {self.count}"
            )
        # A last batch that is not full would weigh its examples more than the others (and on several processes repeat some).
        return 1 if training.max_steps > 0 else batch

    def epoch(self, training: Any) -> tuple[str, int, int]:
        """Examples or pairs, with what stands beside them."""
        count = getattr(self, self.count)
        count += sum(starmap(to_stand_beside, getattr(self, "beside", {}).items()))
        count -= count % self.step(training)
        return self.items, training.examples_per_step, count


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
    items = "pairs"
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
        least=1,
    )
    chat_template_kwargs: dict | str | None = setting(  # noqa: RUF009
        None, "Arguments of the chat template (JSON), as GRPO has them."
    )
