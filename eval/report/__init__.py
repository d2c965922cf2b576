"""What an evaluation found as a page for people, and what any such page is made of: charts, templates.

A page holds everything it needs and loads nothing. What a model wrote is escaped wherever it stands.
"""
