"""Training on DAT rewards: configuration, tracking, the embedded model and the trainers. Never imports eval."""
