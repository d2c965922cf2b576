"""The one client of OpenAI-compatible servers: generator, judge and encoder ask through it."""
