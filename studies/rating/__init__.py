"""Answers that people judge blind in one HTML file, and what their files say."""
