"""Word tasks without a judge: cue DAT, one-kana DAT, chains of associations, kanji remote associates."""
