"""Pages for people: what training did (`study_page`), and what an evaluation found (`evaluation_page`).

A page holds everything it needs and loads nothing. What a model wrote is escaped wherever it stands.
"""
