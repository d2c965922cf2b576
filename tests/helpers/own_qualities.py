"""Qualities of one's own, by a dotted path."""

from sozo.rewards import make_diverse_reward


def score():
    """What makes a reward may be called like a trainer's own key."""
    return make_diverse_reward(length)


def length(completions, **columns):
    return [float(len(text)) for text in completions]
