"""Two tastes: an experiment with product ideas from patents on a tiny model (`examples/two_tastes.py`)."""
