"""What can be set about JCQ: the questions, and the judge."""

from __future__ import annotations

from dataclasses import dataclass

from data.errors import UserError
from data.jcq import Question, load_questions, trial_questions
from data.settings import setting
from rewards.judges.options import JudgeSettings


@dataclass(frozen=True)
class JcqSettings(JudgeSettings):
    """Which questions are asked, and who judges the answers."""

    questions: str | None = setting(
        None, "JSONL file or folder, or a hub dataset (default: nlp-waseda/JCQ, split test)."
    )
    questions_revision: str | None = setting(
        None, "Hub revision of the questions; their content is checked in any case."
    )
    any_questions: bool = setting(False, "Take questions that are not the 700 of the benchmark; no JCQ score.")
    trial: bool = setting(False, "Ask sozo's own 35 trial questions: offline, and not the benchmark.")
    judgements: str | None = setting(
        None, "Of answers that exist (score): what JCQ-judge had --judge-model say about them, JSONL. Nobody is asked."
    )

    def load_questions(self) -> tuple[Question, ...]:
        """The questions."""
        if not self.trial:
            return load_questions(self.questions, self.questions_revision, complete=not self.any_questions)
        if self.questions:
            raise UserError("give either --trial or --questions, not both")
        return trial_questions()
