"""Integrations: answers as other tools and clients hand them over, scored by one core (docs/integrations.md)."""
