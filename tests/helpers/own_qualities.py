"""Qualities of one's own, by a dotted path."""

from sozo.rewards import make_diverse_reward


def score():
    """What makes a reward may be called like a trainer's own key."""
    return make_diverse_reward(length)


def said(completions, **columns):
    """The length of a text, or of what a conversation ends with."""
    texts = [c if isinstance(c, str) else c[-1]["content"] for c in completions]
    return length(texts)


def length(completions, **columns):
    return [float(len(text)) for text in completions]
