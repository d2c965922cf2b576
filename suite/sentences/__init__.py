"""sentences: one sentence with two nouns, whose form and novelty a program can check."""
