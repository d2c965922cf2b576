"""What `sozo study` is made of: a study's steps, records and processes, the plan of a dry run, its table."""
