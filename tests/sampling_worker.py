"""Samples random nouns into a folder, to be killed: `python sampling_worker.py FOLDER RESPONSES BATCH_SIZE`."""

import sys
from pathlib import Path

from eval.responses import sample_responses
from fakes import FakeNouns, axis_encoder

from generate import RandomNouns
from rewards.tasks.dat.scorer import DatScorer

NOUNS = ["犬", "猫", "水", "山", "川", "本", "車", "空", "海", "石", "木", "花"]


def scorer():
    """Knows all but one of the nouns, so that some responses are invalid."""
    return DatScorer(FakeNouns(NOUNS[:-1]), axis_encoder(NOUNS))


def sample(folder, responses, batch_size, **kwargs):
    sample_responses(RandomNouns(NOUNS), scorer(), folder, responses, seed=3, batch_size=batch_size, **kwargs)


if __name__ == "__main__":
    sample(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
