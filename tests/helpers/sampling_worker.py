"""Samples random nouns into a folder, to be killed: `python sampling_worker.py FOLDER ANSWERS BATCH_SIZE`."""

import sys
from pathlib import Path

from fakes import FakeNouns, axis_encoder
from sozo.data.processes import Processes
from sozo.eval.draw import SamplingOptions, draw_parts
from sozo.models.nouns import RandomNouns
from sozo.tasks.dat.scorer import DatScorer, DatSettings
from sozo.tasks.dat.task import Dat

NOUNS = ["犬", "猫", "水", "山", "川", "本", "車", "空", "海", "石", "木", "花"]


def scorer():
    """Knows all but one of the nouns, so that some answers are unusable."""
    return DatScorer(FakeNouns(NOUNS[:-1]), axis_encoder(NOUNS))


def dat_by(scorer, **settings):
    """The task with this scorer."""
    task = Dat(DatSettings(noun_checker="jumandic", **settings))
    task.scorer = scorer
    return task


def sample(folder, answers, batch_size, processes=None, task=None, writer=None):
    task = task or dat_by(scorer())
    sampling = SamplingOptions(num_answers=answers, seed=3, batch_size=batch_size)
    draw_parts(
        task,
        task.items(),
        writer or RandomNouns(NOUNS),
        sampling,
        folder,
        processes or Processes(),
    )


if __name__ == "__main__":
    sample(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
