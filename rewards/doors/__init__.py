"""Doors: answers as other trainers, harnesses and clients hand them over, scored by one core (docs/doors.md)."""
