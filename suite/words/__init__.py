"""Word tasks without a judge: cue DAT."""
