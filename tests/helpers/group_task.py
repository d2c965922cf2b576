"""A task whose answers are judged together: numbers, each worth its mean distance from the others to its item."""

from sozo.scoring.measure import Measure
from sozo.tasks.task import Item, Row, Task


class Spread(Task):
    """Write a number that nobody else writes."""

    name = "spread"
    measures = (Measure("spread", digits=1, together=True),)
    answers_per_item = 3

    def items(self):
        return [Item(name, f"A number for {name}.") for name in ("a", "b", "c")]

    def score(self, items, answers):
        return [
            Row(reason=None if answer.text.isdigit() else "no_number")
            for answer in answers
        ]

    def score_together(self, item, answers, rows):
        numbers = [int(answer.text) for answer in answers]
        if len(numbers) < 2:
            return [Row(reason="alone")]
        return [
            Row(
                {
                    "spread": sum(abs(own - other) for other in numbers)
                    / (len(numbers) - 1)
                }
            )
            for own in numbers
        ]


class Crowd(Spread):
    """The same for a thousand."""

    name = "crowd"
    measures = (Measure("crowd", digits=1, together=True),)

    def items(self):
        return [Item(str(k), f"A number for {k}.") for k in range(1000)]

    def score_together(self, item, answers, rows):
        return [
            Row({"crowd": row.values["spread"]} if row.values else {}, row.reason)
            for row in super().score_together(item, answers, rows)
        ]
