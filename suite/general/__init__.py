"""General check: is a model still a model after a training?"""
