"""English lists."""

FAR = [
    "algorithm",
    "feather",
    "priest",
    "volcano",
    "butter",
    "grammar",
    "ankle",
    "submarine",
    "jealousy",
    "carpet",
]
