"""A task whose answers are judged together: numbers, each worth its mean distance from the others to its item."""

from sozo.scoring.measure import Measure
from sozo.tasks.task import Item, Row, Task


class Spread(Task):
    """Write a number that nobody else writes."""

    name = "spread"
    measures = (Measure("spread", digits=1, together=True),)
    num_answers = 3

    def items(self):
        return [Item(name, f"A number for {name}.") for name in ("a", "b", "c")]

    def score(self, items, answers):
        return [Row(reason=None if answer.text.isdigit() else "no_number") for answer in answers]

    def score_together(self, item, answers, rows):
        values = {k: int(answers[k].text) for k, row in enumerate(rows) if row.reason is None}
        result = [row if row.reason else Row(reason="alone") for row in rows]
        for k, value in values.items():
            if others := [abs(value - other) for j, other in values.items() if j != k]:
                result[k] = Row({"spread": sum(others) / len(others)})
        return result
