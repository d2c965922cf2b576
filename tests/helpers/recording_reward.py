"""A DAT reward that writes down what each process was asked and paid, one line of `RANK.jsonl` per call."""

import json
from pathlib import Path

from sozo.data.processes import rank
from sozo.rewards.dat import DatReward
from sozo.scoring.final_text import completion_text
from sozo.tasks.dat.scorer import DatScorer, DatSettings


class RecordingReward(DatReward):
    def __call__(self, prompts=None, completions=(), **kwargs):
        paid = super().__call__(prompts=prompts, completions=completions, **kwargs)
        texts = [completion_text(completion) for completion in completions]
        with (self.folder / f"{rank()}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({"texts": texts, "paid": paid}) + "\n")
        return paid


def make(*, folder):
    """The factory that `reward_args` names."""
    reward = RecordingReward(
        lambda: DatScorer.from_settings(DatSettings(noun_checker="jumandic"))
    )
    reward.folder = Path(folder)
    return reward
