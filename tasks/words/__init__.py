"""Word tasks without a judge: cue DAT, kanji remote associates."""
