"""What can be set about JCQ, and judgements where nobody is asked: from a file of those that JCQ-judge made."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.settings import setting
from sozo.scoring.judges.ledger import Ledger
from sozo.scoring.judges.options import JudgeSettings
from sozo.scoring.judges.protocol import Asked, Judge, Status
from sozo.scoring.judges.run import Judging, answer_keys, judging_of
from sozo.tasks.jcq.files import PARAMETERS, PROMPT, read_jcq_judgements
from sozo.tasks.jcq.rubric import JCQ_RUBRICS, JCQ_V1


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
    judge_prompt: str = setting(
        "jcq-v1", "jcq-v1 (the paper's) or jcq-v1-guarded (against answers that address the judge)."
    )
    judgements: str | None = setting(
        None, "Of answers that exist (score): what JCQ-judge had --judge-model say about them, JSONL. Nobody is asked."
    )


def judging_settings(settings: JcqSettings, judge: Judge | None) -> dict[str, Any]:
    """What decides the judgements, for a run's record; `judge` is what their keys are made of."""
    if not settings.judgements:
        if settings.judge_prompt not in JCQ_RUBRICS:
            raise UserError(f"judge_prompt must be one of {', '.join(JCQ_RUBRICS)}, not {settings.judge_prompt}")
        settings.price()  # raises before anybody is asked if it is half a price
        if judge is None:
            raise ValueError("the task has no judge: set `judge` to one made of its `judge_settings`")
        return {"judge": {"model": judge.name, "prompt": settings.judge_prompt, **judge.parameters}}
    for field in fields(settings):
        asking = field.name.startswith(("judge_", "price_")) or field.name in ("max_cost", "retry_failed", "reparse")
        if asking and field.name != "judge_model" and getattr(settings, field.name) != field.default:
            raise UserError(f"--{field.name.replace('_', '-')} is for a judge that is asked, not for --judgements")
    path = Path(settings.judgements)
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); give JCQ-judge's file of judgements") from error
    return {"judge": {"model": settings.judge_model, "prompt": PROMPT, **PARAMETERS}, "judgements_sha256": digest}


def import_judgements(settings: JcqSettings, answers: Sequence[Asked], ledger: Path) -> Judging:
    """Take the judgements of JCQ-judge's file into the ledger; an answer without one stays without.

    Of equal answers to one question, which share a judgement here, a judgement with scores holds before one without,
    and the last before the others: so those with scores are written last.
    """
    imported = read_jcq_judgements(Path(str(settings.judgements)), settings.judge_model, answers)
    keys = answer_keys(answers, settings.judge_model, PROMPT, PARAMETERS)
    with Ledger(ledger, (JCQ_V1,)) as lines:
        known = {(line.key, line.answer_id) for line in lines.judgements}  # what an earlier call had written
        for judgement in sorted(filter(None, imported), key=lambda judgement: judgement.status is Status.OK):
            if (judgement.key, judgement.answer_id) not in known:
                lines.append(judgement)
        return judging_of(lines.judgements, keys)
