"""What the papers derived from their own tables, recomputed: `docs/published-check.md` is its page."""
