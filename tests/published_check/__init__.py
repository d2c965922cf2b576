"""What the papers derived from their own tables, recomputed: `recomputed.csv`, and what data/published/README.md says."""
