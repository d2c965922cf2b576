"""hivemind: how alike a model's answers to one open prompt are, and those of several models."""
