"""verl: `reward.custom_reward_function.path=pkg://sozo.rewards.integrations.verl` (docs/integrations.md)."""

from collections.abc import Mapping
from typing import Any

from sozo.rewards.integrations.core import open_integration


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
    """What verl adds to a row's `extra_info`: `score` (the reward), the task's measure (None without), and `reason`.

    `task` and `settings` are verl's `reward_kwargs`. `ground_truth` may be an item's id; columns such as SAT's story,
    and `split`, stand in `extra_info`. `data_source` and what verl hands over of a reward model are not read.

    >>> answer = "\\n".join(f"{k}. {w}" for k, w in enumerate("犬 法律 海 数学 靴 音楽 病気 机 天気 犬".split(), 1))
    >>> compute_score("dat", answer, "", {"index": 0}, noun_checker="jumandic")
    {'score': 0.0, 'dat': None, 'reason': 'repeated_word'}
    """
    integration = open_integration(task, **settings)
    (paid,) = integration.pay(
        [solution_str], [{"item": ground_truth, **(extra_info or {})}]
    )
    return {
        "score": paid.reward,
        integration.name: paid.score,
        "reason": paid.reason or "",
    }
