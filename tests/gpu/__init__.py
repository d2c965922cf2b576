"""What `tests/gpu/check.py` measures on a GPU: one unit at a time, each in a process of its own."""
