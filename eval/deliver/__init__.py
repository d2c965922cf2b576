"""Where results go beside their folder: the W&B run that trained the model, and its model card."""
