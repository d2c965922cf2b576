"""What a language model is, for those who run it and those who train it: its folder, its attention, its memory."""
