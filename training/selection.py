"""From response tables to training data, exactly as the paper (sections 5.1.1 and 5.1.2), and for any task.

The answers to one prompt stand in one order: score from high to low, an invalid answer counting 0 and staying in, ties
by id from low to high. SFT imitates the first; DPO prefers the first to the last, paired at random from a seed. Each of
several prompts gives its share of all answers. With enough invalid answers all those rejected are: the paper's rule.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sozo.data.errors import UserError
from sozo.data.prompts import as_completion
from sozo.data.prompts.form import PLAIN, PromptForm
from sozo.training.pairs import MATCHED, RULES, Pairs, matched
from sozo.training.ranking import Ranked, Selected

logger = logging.getLogger(__name__)


def select_top(responses: Path | Sequence[str | Path], k: int) -> Selected:
    """The k answers with the highest scores, for SFT.

    `responses` is a finished run's folder or a table of DAT responses (see `data.schema.part_paths`), or several. One
    that is not there, too small or not scored is refused, and so are prompts that must never be trained on.
    """
    ranked = Ranked(responses)
    top = ranked.take([np.arange(share) for share in ranked.shares(k, "top_k")])
    if top.num_invalid:
        logger.warning("%s of the %s best responses of %s are invalid", top.num_invalid, k, ranked.where)
    return top


def select_pairs(responses: Path | Sequence[str | Path], num_pairs: int, *, seed: int, rule: str = "paper") -> Pairs:
    """The answers with the highest scores, each paired by `seed` with one of the lowest to the same prompt, for DPO.

    Tables and errors are those of `select_top`, other rules those of `training.pairs`. A pair of equal scores teaches
    nothing true: an overlap is warned of.
    """
    if rule not in (*RULES, MATCHED):
        raise UserError(f"pairs must be one of {', '.join((*RULES, MATCHED))}, not {rule}")
    ranked, random = Ranked(responses, valid=rule != "paper"), np.random.default_rng(seed)
    if rule == MATCHED:
        return matched(ranked, num_pairs, random)
    shares = ranked.shares(num_pairs, "num_pairs", each=2)
    rows = [RULES[rule](table, share, random) for table, share in zip(ranked.tables, shares.tolist(), strict=True)]
    pairs = Pairs(ranked.take([chosen for chosen, _ in rows]), ranked.take([rejected for _, rejected in rows]))
    sides = (np.split(side.scores, np.cumsum(shares)[:-1]) for side in (pairs.chosen, pairs.rejected))
    borders = [(float(good.min()), float(bad.max())) for good, bad in zip(*sides, strict=True) if len(good)]
    if overlaps := [border for border in borders if border[0] <= border[1]]:
        of_prompts = f" for {len(overlaps)} of {len(borders)} prompts" if len(borders) > 1 else ""
        logger.warning(
            "chosen and rejected responses overlap in score%s: the lowest chosen one has %.4f, the highest rejected "
            "one %.4f (%s chosen ones are invalid); take fewer than %s pairs, or sample more responses",
            *(of_prompts, *overlaps[0], pairs.chosen.num_invalid, num_pairs),
        )
    return pairs


def sft_rows(top: Selected, *, conversational: bool, form: PromptForm = PLAIN) -> list[dict[str, Any]]:
    """Prompt-completion rows, as conversations or as plain text."""
    return _rows(top.prompts, conversational, form, completion=top.texts)


def dpo_rows(pairs: Pairs, *, conversational: bool, form: PromptForm = PLAIN) -> list[dict[str, Any]]:
    """Preference rows: a prompt, an answer to prefer and one to avoid."""
    answers = {"chosen": pairs.chosen.texts, "rejected": pairs.rejected.texts}
    return _rows(pairs.chosen.prompts, conversational, form, **answers)


def _rows(prompts: list[str], conversational: bool, form: PromptForm, **answers: list[str]) -> list[dict[str, Any]]:
    rows = []
    template = {"chat_template_kwargs": dict(form.arguments)} if form.arguments else {}  # TRL reads it row by row
    for prompt, *texts in zip(prompts, *answers.values(), strict=True):
        row: dict[str, Any] = {"prompt": form.prompt(prompt, conversational=conversational), **template}
        for name, text in zip(answers, texts, strict=True):
            row[name] = as_completion(text, conversational=conversational)
        rows.append(row)
    return rows
