"""The papers' tables: every digit of Table 11 by hand, and the others against each other."""

from importlib.resources import files

from sozo.data.published import load

# Copied by hand from the paper, Table 11: usable, mean, std, different words.
TABLE_11 = """
- random 131072 0.555 0.020 22085
Swallow-8B base 105401 0.524 0.018 8026
Swallow-8B SFT 100991 0.538 0.022 17614
Swallow-8B DPO_1 129447 0.547 0.017 7231
Swallow-8B DPO_2 130450 0.594 0.014 5689
Swallow-8B GRPO 117824 0.570 0.022 10696
Qwen2.5-7B base 81548 0.519 0.020 7839
Qwen2.5-7B SFT 81772 0.526 0.023 13470
Qwen2.5-7B DPO_1 112768 0.536 0.015 5949
Qwen2.5-7B DPO_2 115034 0.554 0.015 4464
Qwen2.5-7B GRPO 96567 0.541 0.022 8431
llm-jp-3-7.2b base 25556 0.521 0.040 20999
llm-jp-3-7.2b SFT 48830 0.534 0.039 41410
llm-jp-3-7.2b DPO_1 123998 0.533 0.024 25782
llm-jp-3-7.2b DPO_2 127845 0.567 0.019 16420
llm-jp-3-7.2b GRPO 14668 0.558 0.026 30548
"""


def test_table_11_digit_for_digit():
    names = ("model", "method", "usable", "score", "std", "all_different_words")
    by_hand = []
    for line in TABLE_11.split("\n")[1:-1]:
        model, method, usable, score, std, words = line.split()
        model = None if model == "-" else model
        numbers = int(usable), float(score), float(std), int(words)
        by_hand.append((model, method.replace("_", " "), *numbers))
    stored = load("dat_training")
    assert {tuple(row) for row in stored} == {names}
    assert [tuple(row.values()) for row in stored] == by_hand


def test_every_table_is_a_full_rectangle():
    names = [
        path.name.removesuffix(".csv")
        for path in files("sozo.data.published").iterdir()
        if path.name.endswith(".csv")
    ]
    assert len(names) == 25
    for name in names:
        rows = load(name)
        assert rows
        assert all(None not in row for row in rows), (
            name
        )  # csv puts cells without a heading there
        keys = [
            key
            for key in rows[0]
            if all(isinstance(row[key], str | None) for row in rows)
        ]
        assert len({tuple(row[key] for key in keys) for row in rows}) == len(rows), name
