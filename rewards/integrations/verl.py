"""verl: `reward.custom_reward_function.path=pkg://sozo.rewards.integrations.verl` (docs/integrations.md)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sozo.data.errors import UserError
from sozo.rewards.integrations.core import Integration, open_integration
from sozo.rewards.reward import ScoredCompletion

ALONE = (
    "verl shows compute_score one answer at a time; up to verl 0.7.0 name=compute_scores has whole groups, with "
    "reward_model.reward_manager=batch and reward_model.use_reward_loop=False"
)


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    task: str = "dat",
    reward_router_address: Any = None,
    reward_model_tokenizer: Any = None,
    **settings: Any,
) -> dict[str, Any]:
    """What verl adds to a row's `extra_info`: `score` (the reward), the task's measure (NaN without), and `reason`.

    `task` and `settings` are verl's `reward_kwargs`. `ground_truth` may be an item's id; columns such as SAT's story,
    and `split`, stand in `extra_info`. `data_source` and what verl hands over of a reward model are not read.

    >>> answer = "\\n".join(f"{k}. {w}" for k, w in enumerate("犬 法律 海 数学 靴 音楽 病気 机 天気 犬".split(), 1))
    >>> compute_score("dat", answer, "", {"index": 0}, noun_checker="jumandic")
    {'dat': nan, 'score': 0.0, 'reason': 'repeated_word'}
    """
    integration = open_integration(task, **settings)
    (paid,) = integration.pay(
        [solution_str], [{"item": ground_truth, **(extra_info or {})}], remedy=ALONE
    )
    return _told(integration, paid)


def compute_scores(
    data_sources: Sequence[str],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Mapping[str, Any] | None],
    *,
    task: str = "dat",
    **settings: Any,
) -> list[dict[str, Any]]:
    """The same for a batch, as verl's `BatchRewardManager` calls it; a reward may look at a group.

    A group is what has one data source and one `index` in `extra_info`: the row's number, as verl's own scripts of data
    write it.

    >>> compute_scores(["dat"], ["1. 犬"], [""], [{"index": 0}], noun_checker="jumandic")
    [{'dat': nan, 'score': 0.0, 'reason': 'format'}]
    """
    integration = open_integration(task, **settings)
    groups = []
    for source, extra in zip(data_sources, extra_infos, strict=True):
        if "index" not in (extra or {}):
            remedy = "write it into the rows of the data file"
            raise UserError(
                f"extra_info has no index, the row's number, by which groups are known; {remedy}"
            )
        groups.append(json.dumps([source, (extra or {})["index"]], default=str))
    asked = [
        {"item": truth, **(extra or {})}
        for truth, extra in zip(ground_truths, extra_infos, strict=True)
    ]
    remedy = "hand over all rollout.n answers to a row in one batch, and each row once"
    paid = integration.pay(solution_strs, asked, groups=groups, remedy=remedy)
    return [_told(integration, one) for one in paid]


def _told(integration: Integration, paid: ScoredCompletion) -> dict[str, Any]:
    return {
        # First: a reward of one's own may be called score. None would make objects of a batch's numbers.
        integration.name: float("nan") if paid.score is None else paid.score,
        # It makes a tensor of all: what has no number is worth nothing here.
        "score": 0.0 if paid.reward is None else paid.reward,
        "reason": paid.reason or "",
    }
