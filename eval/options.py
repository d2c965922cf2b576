"""What a user can set, declared once: the command line reads these fields as flags, a recipe as flags and YAML keys."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from data.settings import setting
from rewards.nouns import NounRules
from rewards.tasks.dat.scorer import DatRules, ScorerSettings

DEFAULT_TRIALS = 100


@dataclass(frozen=True, slots=True)
class ScoringOptions:
    """The flags of everything that scores.

    >>> ScoringOptions(olson=True).scorer().rules.olson
    True
    """

    noun_checker: str = setting("auto", "auto, jumanpp or jumandic; auto takes jumanpp where the command is found.")
    embedding_model: str = setting(
        "ja-ginza", "A sentence-transformers hub id or folder, openai:NAME, or ja-ginza (packaged)."
    )
    embedding_revision: str | None = setting(None, "Hub revision of the embedding model.")
    embedding_cache: str | None = setting(None, "Folder of a disk cache of word vectors.")
    reasoning: bool = setting(True, "Cut off a leading <think>...</think>.")
    repeated_by_representative: bool = setting(False, "Count りんご and 林檎 as one word, by 代表表記.")
    olson: bool = setting(False, "Olson et al. (2021), English: first 7 valid words, times 100.")
    accept_affixes: bool = setting(False, "お茶 and 子供たち count as nouns.")
    accept_unknown_katakana: bool = setting(False, "Unknown katakana words count as nouns.")
    reject_proper_nouns: bool = setting(False, "Proper nouns do not count.")

    def scorer(self) -> ScorerSettings:
        """What to score with."""
        return ScorerSettings(
            noun_checker=self.noun_checker,
            embedding_model=self.embedding_model,
            embedding_revision=self.embedding_revision,
            embedding_cache=self.embedding_cache,
            rules=DatRules(self.reasoning, self.repeated_by_representative, self.olson),
            noun_rules=NounRules(self.accept_affixes, self.accept_unknown_katakana, self.reject_proper_nouns),
        )


@dataclass(frozen=True, slots=True)
class SamplingOptions:
    """How many responses, and from which randomness.

    >>> SamplingOptions(trials=10).checked().batch_size
    10
    """

    num_responses: int | None = setting(None, "Responses in all, valid or not (the paper's Table 11: 131072).")
    trials: int | None = setting(None, "Valid responses: the benchmark (the paper: 100, which is the default).")
    seed: int = setting(0, "Seed; a batch's randomness is a function of this and the batch's number.")
    batch_size: int = setting(1024, "Responses per batch and per parquet part.")

    def checked(self) -> SamplingOptions:
        """With the defaults filled in: 100 trials, and no batch larger than the trials.

        Raises:
            ValueError: A number is out of range, or both counts are given.
        """
        values = asdict(self)
        if self.num_responses is not None and self.trials is not None:
            raise ValueError("give either num_responses (in all) or trials (valid ones), not both")
        if self.num_responses is None and self.trials is None:
            values["trials"] = DEFAULT_TRIALS
        for name, least in (("num_responses", 1), ("trials", 1), ("seed", 0), ("batch_size", 1)):
            if values[name] is not None and values[name] < least:
                raise ValueError(f"{name} must be at least {least}, not {values[name]}")
        if values["trials"] is not None:
            values["batch_size"] = min(self.batch_size, values["trials"])
        return SamplingOptions(**values)


@dataclass(frozen=True, slots=True)
class AnsweringOptions:
    """How often a question or a story is put to a model, and from which randomness."""

    num_answers: int = setting(1, "Answers to each question, rewrites of each story.")
    seed: int = setting(0, "Seed; a batch's randomness is a function of this and the batch's number.")
    batch_size: int = setting(64, "Answers per batch and per parquet part.")

    def checked(self) -> AnsweringOptions:
        """Itself, after every check.

        Raises:
            ValueError: A number is out of range.
        """
        for name, least in (("num_answers", 1), ("seed", 0), ("batch_size", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, not {getattr(self, name)}")
        return self


@dataclass(frozen=True, slots=True)
class JcqOptions:
    """Which questions are asked."""

    questions: str | None = setting(
        None, "JSONL file or folder, or a hub dataset (default: nlp-waseda/JCQ, split test)."
    )
    questions_revision: str | None = setting(
        None, "Hub revision of the questions; their content is checked in any case."
    )
    any_questions: bool = setting(False, "Take questions that are not the 700 of the benchmark; no JCQ score.")
    trial: bool = setting(False, "Ask sozo's own 35 trial questions: offline, and not the benchmark.")


@dataclass(frozen=True, slots=True)
class SatOptions:
    """What a SAT score rests on."""

    stories: str | None = setting(None, "JSONL file of stories (default: the 113 packaged ones).")
    sat_embedding_model: str = setting(
        "ja-ginza", "Encoder of stories and rewrites (the paper: pkshatech/simcse-ja-bert-base-clcmlp)."
    )
    sat_embedding_revision: str | None = setting(None, "Hub revision of that encoder.")
    sat_embedding_cache: str | None = setting(None, "Folder of a disk cache of its vectors.")


@dataclass(frozen=True, slots=True)
class ResultOptions:
    """Where results go beside their folder."""

    wandb: bool | None = setting(
        None,
        "Log results into the W&B run that trained the model (default: if there is one; --wandb: else a new run).",
    )
    model_card: bool = setting(
        False, "Put results into the metadata of README.md in the model's folder, in place of its earlier ones."
    )
