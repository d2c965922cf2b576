"""What the papers derived from their tables, recomputed from the printed digits: `eval correlate --published`."""
