"""Ideas from patents in training: a recipe for a large model, and the experiment of two tastes on a tiny one."""
