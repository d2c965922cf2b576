"""What `recipes/reproduce.py` is made of: a study's steps, their records, their processes, the plan of a dry run."""
