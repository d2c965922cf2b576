"""Answers to SIPeN and their finished runs."""

from sozo.data.jsonl import write_objects, write_records
from sozo.eval.run import score_answers
from sozo.suite.sipen.items import ANSWERS, CONTROL, FORMS, NO
from sozo.suite.sipen.task import Sipen, SipenSettings


def run_of(folder, texts, *, items=None, source="m", **settings):
    """A finished run in `folder`; `texts` is item id -> text, or a function of an item."""
    if items is not None:
        write_records(folder / "items.jsonl", items)
        settings["sipen_items"] = str(folder / "items.jsonl")
    task = Sipen(SipenSettings(**settings))
    answer = texts if callable(texts) else lambda item: texts[item.id]
    rows = (
        {"id": f"{item.id}#0", "item": item.id, "text": answer(item)}
        for item in task.asked
    )
    write_objects(folder / "answers.jsonl", rows)
    return score_answers(task, folder / "answers.jsonl", folder / source, source=source)


def truthful(item):
    """The gold answer: of a hypothesis the implicature."""
    words = dict(zip(ANSWERS, FORMS["sipen-ja-v2"].options, strict=True))
    return words[CONTROL.get(item.direction, NO)]
