"""Four systems' answers to 15 questions: what three people and a judge give them depends on the system alone."""

import numpy as np


def sixty_scores():
    """People's mean scores, the judge's, the systems and the questions, each of shape (60,)."""
    rng = np.random.default_rng(19053)
    people, judge = scores_by(rng)
    return people.mean(axis=0), judge, np.repeat([*"abcd"], 15), np.tile(range(15), 4)


def scores_by(rng):
    """Each person's scores, shape (3, 60), and the judge's: a level for each system, and noise of one's own."""
    level = np.repeat([2.0, 3, 3, 4], 15)
    people = np.clip(np.rint(level + rng.normal(0, 0.9, (3, 60))), 1, 5)
    return people, np.clip(np.rint(level + rng.normal(0, 0.7, 60)), 1, 5)
