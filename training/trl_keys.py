"""Settings of TRL's own scripts (`trl grpo`, `trl sft`, `trl dpo`) that its trainers do not have, and what is ours."""

from collections.abc import Iterable

_DATA = {
    "dataset_name",
    "dataset_config",
    "dataset_train_split",
    "dataset_streaming",
    "datasets",
}
_REWARDS = {"reward_funcs", "reward_model_name_or_path"}
_TEST = {"dataset_test_split", "test_split_size"}


def ours(unknown: Iterable[str], known: Iterable[str]) -> str | None:
    """What to write in the place of the first of TRL's names among `unknown` ones, where `known` are a method's.

    >>> ours(["dataset_name"], ["tasks"])
    "dataset_name is of TRL's own script; here write tasks: [{prompts: hub:NAME:SPLIT, reward_funcs: [PATH]}]"
    """
    name = next((n for n in unknown if n in _DATA | _REWARDS | _TEST), None)
    if name is None:
        return None
    if name in _TEST:
        here = "evaluate: {every: 20, tasks: [dat]}"
    elif "tasks" in known:
        here = "tasks: [{prompts: hub:NAME:SPLIT, reward_funcs: [PATH]}]"
        if name == "reward_funcs":
            here = "them into an entry: tasks: [{task: dat, reward_funcs: [PATH]}]"
        if name == "reward_model_name_or_path":
            here += ", PATH of a function that asks the model"
    elif name in _DATA:
        here = (
            "answers: DIR, a folder of scored answers that sozo run or sozo dat wrote"
        )
    else:
        return f"{name} is of TRL's own script of GRPO; leave it out"
    return f"{name} is of TRL's own script; here write {here}"
