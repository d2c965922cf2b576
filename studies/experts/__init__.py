"""A judge for each expert: does it agree better with an expert whose own scores it has seen?"""
