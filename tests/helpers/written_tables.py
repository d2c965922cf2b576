"""Tables that Table 11 reads."""

from fakes import Answer, write_answer_table


def write(folder, lists, unusable=0, parts=2):
    """One usable answer for each (words, score), the unusable ones last, in `parts` parts."""
    rows = [
        Answer(str(i), "m", 0, "t", tuple(words), score)
        for i, (words, score) in enumerate(lists)
    ]
    rows += [
        Answer(f"x{i}", "m", 0, "t", None, None, "format") for i in range(unusable)
    ]
    size = -(-len(rows) // parts)
    for part in range(parts):
        write_answer_table(
            folder / "answers" / f"part-{part:05d}.parquet",
            rows[part * size : (part + 1) * size],
        )
    return folder
