"""What every integration calls: a text as some tool hands it over, the answer in it, and what the task pays for it.

An integration beside this file imports its own tool and translates names. Whatever decides a number is here.
"""

import json
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from sozo.data.errors import UserError
from sozo.data.foreign import quoted
from sozo.data.settings import from_validation, settings_of
from sozo.rewards.own_rewards import reward_at
from sozo.rewards.reward import Completion, Reward, ScoredCompletion, each
from sozo.rewards.task import reward_of, reward_options
from sozo.scoring.final_text import (
    completion_text,
    count_unknown,
    question_text,
    without_end_marks,
)
from sozo.tasks import task_type
from sozo.tasks.task import Answer, Item, Row

# How chat templates begin: what may stand before everything, a turn that is no answer, and the head of the answer.
_BEGIN = re.compile(r"\A(?:\s|<s>|<bos>|<\|begin_of_text\|>|<｜begin▁of▁sentence｜>)*")
_TURN = re.compile(
    r"<\|(?:im_start|start_header_id|start)\|>(?:system|developer|user)|<\|(?:system|user)\|>|<start_of_turn>user|"
    r"\[INST\]|<｜User｜>|以下は、タスクを説明する指示です。|### 指示[:：]"
)
_REPLY = re.compile(
    r"(?:<\|im_start\|>assistant|<\|start_header_id\|>assistant<\|end_header_id\|>|<\|start\|>assistant|<\|assistant\|>|"
    r"<start_of_turn>model|\[/INST\]|<｜Assistant｜>|### 応答[:：])\n{0,2}"
)
T = TypeVar("T")
_LOCK = threading.Lock()
_OPEN: dict[str, "Integration"] = {}
BATCH = 256  # answers that are scored at once, or one group
LONGEST = 1_000_000  # characters of a text
# What rows of other rewards say of their answers, under names that trainers and data sets have for it.
_OF_OTHERS = ("ground_truth", "answer", "data_source")
OBJECT = TypeAdapter(dict[str, Any])


class Integration:
    """One task for a tool that shows texts: `measure` gives the task's own values, `pay` its reward.

    `settings` are fields of the task's `Settings` and options of its reward (`scale`, `penalise_duplicates`). With
    `reward`, a dotted path, that reward pays in place of the task's own; `reward_args` make it, as in a recipe. A text is
    a string or a conversation; `asked` says what it answers: an item's id, or a mapping (or its JSON) with the column
    `item` or the columns that the task's items have, such as SAT's `story`. A task with one item needs none. `prompts`
    are what was asked, as far as that is known. Only where the tool says so does a text still hold it (`answer_in`).

    Safe to call from several threads; the history of duplicates is this object's.

    >>> integration = Integration("dat")
    >>> integration.measure(["1. 犬<|im_end|>"]) == integration.measure(["1. 犬"])
    True
    """

    def __init__(
        self,
        task: str = "dat",
        *,
        reward: str | None = None,
        reward_args: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        kind = task_type(task)
        options = reward_options(kind)
        if options is None:
            raise UserError(
                f"{task}: a judge scores its answers, which no integration asks; see make_judge_reward"
            )
        if reward is not None:
            options = set()
        self._options = {
            name: value for name, value in settings.items() if name in options
        }
        of_task = {
            name: value for name, value in settings.items() if name not in options
        }
        self.task = kind(settings_of(kind.Settings, of_task))
        self._named = reward and {"reward": reward, "reward_args": reward_args}
        # What a score is called: the measure that the task is known by, or the reward that was named.
        self.name = reward.rpartition(".")[2] if reward else kind.measures[0].name
        self._reward = (
            reward_at(reward, reward_args)
            if reward
            else reward_of(self.task, **self._options)
        )
        self._lock = threading.Lock()

    @cached_property
    def items(self) -> dict[str, Item]:
        """What the task asks, by id; a text that is read, and not answered, is none of it."""
        return {item.id: item for item in self.task.items() if not item.read}

    @property
    def reward(self) -> Reward:
        """What pays."""
        if not isinstance(self._reward, Reward):
            raise UserError(
                f"{self.name}: an integration pays by a reward of sozo's; make_diverse_reward takes yours as its quality"
            )
        return self._reward

    @property
    def together(self) -> bool:
        """Whether an answer has a value only among the others to its item."""
        return self.task.measures[0].together

    def about(self) -> dict[str, Any]:
        """What decides its numbers: the task, its settings, the reward and its options."""
        reward = self._named or self._options
        return {"task": self.task.name, **self.task.deciding(), **reward}

    def measure(
        self,
        texts: Sequence[Completion],
        asked: Sequence[Any] | None = None,
        prompts: Sequence[Any] | None = None,
        *,
        together: bool = False,
    ) -> list[Row]:
        """The task's values of each text, or the reason why it has none.

        With `together` these are all answers to their items, so that they have what they are worth among each other.
        """
        if not together:
            self.refuse_together()
        with self._lock:
            items, answers, _ = self._read(texts, asked, prompts, False)
            rows = self.task.score(items, answers)
            return self.task.with_others(items, answers, rows) if together else rows

    def refuse_together(self) -> None:
        """A UserError of a task whose answers have no value alone, for a tool that shows one at a time."""
        if self.together:
            raise UserError(
                f"{self.task.name}: its answers are judged together, and this tool shows one at a time"
            )

    def pay(
        self,
        texts: Sequence[Completion],
        asked: Sequence[Any] | None = None,
        prompts: Sequence[Any] | None = None,
        *,
        groups: Sequence[Any] | None = None,
        group_size: int | None = None,
        remedy: str = "give groups, a key for each answer",
        whole: bool = False,
        validate: bool = False,
        before_batch: Callable[[], None] = lambda: None,
    ) -> list[ScoredCompletion]:
        """The task's reward of each text, with a reason for each 0: also `duplicate`, for one that was seen before, and
        `no_value`, where the reward's measure is none of this item.

        A reward that looks at others is shown one group at a time, the answers of one key in `groups`, in their order;
        equal prompts are told apart by it. Groups of different sizes, or of another than `group_size`, are cut: a
        UserError, which ends with `remedy`, as it does where there are no groups. One key for
        different prompts is a UserError, too.

        With `validate`, or where `asked` has a column `split` other than train, the history is neither asked nor
        filled, and a completion has no key. With `whole` each text begins with its prompt: one whose answer cannot be
        found is a UserError. What `before_batch` raises ends the work, before any text is remembered. A
        completion comes without facts.
        """
        with self._lock:
            items, answers, trained = self._read(texts, asked, prompts, whole)
            groups = self._places(groups, items, group_size, remedy)
            paid: dict[int, ScoredCompletion] = {}
            for places in _batches(groups, items):
                before_batch()
                batch = self.reward.alone(
                    [items[place] for place in places],
                    [answers[place] for place in places],
                )
                for place, completion in zip(places, batch, strict=True):
                    trains = trained[place] and not validate
                    if not self.reward.sees_others:  # what it needs no longer
                        completion = replace(completion, facts={}, parts=())
                    key = completion.key if trains else None
                    paid[place] = replace(completion, key=key)
            before_batch()
            for places in groups:
                group = self.reward.among([paid[place] for place in places])
                for place, completion in zip(places, group, strict=True):
                    bare = replace(completion, facts={}, parts=())
                    paid[place] = _with_reason(bare)
            return [paid[place] for place in range(len(items))]

    def restore(self, keys: Sequence[bytes] = ()) -> None:
        """Begin the history of duplicates anew, with these keys of completions."""
        with self._lock:
            self.reward.seen.restore(b"".join(keys).hex())

    def _places(
        self,
        keys: Sequence[Any] | None,
        items: Sequence[Item],
        size: int | None,
        remedy: str,
    ) -> list[list[int]]:
        """Of each group the places of its answers; where none depends on others, any of them are one."""
        count = len(items)
        if not self.reward.sees_others:
            starts = range(0, count, BATCH)
            return [[*range(start, min(start + BATCH, count))] for start in starts]
        if keys is None:
            raise UserError(
                f"{self.name}: its reward looks at all answers to a prompt; {remedy}"
            )
        if len(keys) != count:
            raise UserError(f"{len(keys)} groups came with {count} texts; {remedy}")
        groups = defaultdict(list)
        for place, key in enumerate(keys):
            if not isinstance(key, str | int):
                raise UserError(
                    f"a group's key must be a text or a number, not {quoted(key)}"
                )
            groups[key].append(place)
        needed = size or max(map(len, groups.values()), default=0)
        for key, places in groups.items():
            if len(places) != needed:
                raise UserError(
                    f"group {quoted(key)} has {len(places)} answers, not {needed}, so it is cut; {remedy}"
                )
            if len({(items[place].id, items[place].prompt) for place in places}) > 1:
                raise UserError(
                    f"group {quoted(key)} has answers to different prompts; give each a key of its own"
                )
        return list(groups.values())

    def _read(
        self,
        texts: Sequence[Completion],
        asked: Sequence[Any] | None,
        prompts: Sequence[Any] | None,
        whole: bool,
    ) -> tuple[list[Item], list[Answer], list[bool]]:
        """Items, answers, and which of them are trained on."""
        texts = each(texts, "texts")
        prompts, asked = (
            None if values is None else each(values, name)
            for name, values in (("prompts", prompts), ("asked", asked))
        )
        for name, values in (("prompts", prompts), ("asked", asked)):
            if values is not None and len(values) != len(texts):
                raise UserError(
                    f"{len(values)} {name} came with {len(texts)} texts; give one for each"
                )
        items = []
        answers = []
        trained = []
        for k, text in enumerate(texts):
            question = question_text(prompts[k]) if prompts else ""
            columns = _columns(asked[k] if asked else None)
            item = self._item(columns, question)
            items.append(item)
            answer = (
                answer_in(text, (question, item.prompt))
                if whole
                else completion_text(text)
            )
            if max(len(answer), len(question)) > LONGEST:
                raise UserError(f"a text has more than {LONGEST:,} characters; cut it")
            answers.append(Answer(str(k), item.id, answer))
            trained.append(str(columns.get("split") or "train").startswith("train"))
        count_unknown((answer.text for answer in answers), self.task.name)
        return items, answers, trained

    def _item(self, columns: Mapping[str, Any], prompt: str) -> Item:
        if (item := self.items.get(str(columns.get("item", "")))) is not None:
            if self._named:  # it may read other columns than the task's
                both = {**item.columns, **columns}
                return Item(item.id, prompt or item.prompt, both)
            if item.id:
                return item
        first, *others = self.items.values()
        if first.columns and first.columns.keys() <= columns.keys():
            for name, value in first.columns.items():
                if isinstance(value, str) and not isinstance(columns[name], str):
                    raise UserError(f"{self.task.name}: {name} must be a text")
            return Item("", prompt, columns)
        if self._named:
            return Item("", prompt, columns)
        if others:
            needed = ", ".join(first.columns) or "none"
            raise UserError(
                f"{self.task.name}: say which item is answered: its id as item, or its columns ({needed})"
            )
        for name in ("item", *_OF_OTHERS):
            if columns.get(name) and columns[name] != self.task.name:
                remedy = "leave it empty, or give such rows a reward of their own"
                raise UserError(
                    f"{self.task.name}: asks nothing called {quoted(columns[name])}, the row's {name}; {remedy}"
                )
        return first


def _batches(
    groups: Sequence[Sequence[int]], items: Sequence[Item]
) -> Iterable[list[int]]:
    """Whole groups that ask different things: a reward may go by a prompt's mean."""
    batch: list[int] = []
    prompts: set[str] = set()
    for places in groups:
        prompt = items[places[0]].prompt
        if batch and (prompt in prompts or len(batch) + len(places) > BATCH):
            yield batch
            batch, prompts = [], set()
        batch += places
        prompts.add(prompt)
    if batch:
        yield batch


def _with_reason(completion: ScoredCompletion) -> ScoredCompletion:
    if completion.duplicate:
        return replace(completion, reason="duplicate")
    if completion.score is None:
        return replace(completion, reason=str(completion.reason or "no_value"))
    return completion


def checked(validate: Callable[[Any], T], value: Any, name: str) -> T:
    """What pydantic's `validate` makes of a value; a UserError, which begins with `name`, of its first mistake."""
    try:
        return validate(value)
    except ValidationError as error:
        raise from_validation(error, name) from None


def _columns(asked: Any) -> Mapping[str, Any]:
    if isinstance(asked, str) and asked.startswith("{"):
        return checked(OBJECT.validate_json, asked, "what was asked")
    if isinstance(asked, Mapping):
        return asked
    if asked is not None and not isinstance(asked, str | int):
        raise UserError("what was asked must be an item's id, or an object of columns")
    return {"item": asked or ""}


def answer_in(query: Any, prompts: Iterable[str] = ()) -> str:
    """The answer in a text that holds its prompt, without a template's end marks. A conversation ends with it.

    The prompt is one of `prompts` at the beginning, or any turns in front of the only head of an answer. A UserError
    where it is not there.

    >>> answer_in("<s>[INST] 犬? [/INST]動物</s>"), answer_in("犬?動物<|im_end|>", ["犬?"])
    ('動物', '動物')
    """
    if not isinstance(query, str):
        return completion_text(query)
    begin = _BEGIN.match(query)
    body = query[begin.end() :] if begin else query  # no copy where nothing is cut
    in_template = _TURN.match(body) is not None
    for prompt in prompts:
        known = _BEGIN.sub("", prompt).rstrip()
        start = (
            body.find(known)
            if known and (in_template or body.startswith(known))
            else -1
        )
        if start >= 0:
            behind = _BEGIN.sub("", prompt)[len(known) :]
            answer = body[start + len(known) :].removeprefix(behind)
            # A prompt as the tool itself put it into the template ends with the answer's head.
            head = (
                _REPLY.search(answer)
                if in_template and not _REPLY.search(known)
                else None
            )
            return without_end_marks(answer[head.end() :] if head else answer)
    heads = list(_REPLY.finditer(body))
    if heads and (heads[0].start() == 0 or (in_template and len(heads) == 1)):
        return without_end_marks(body[heads[0].end() :])
    raise UserError(
        f"no prompt that is known stands before the answer in {quoted(query)}; give the answer alone"
    )


def open_integration(task: str = "dat", **settings: Any) -> Integration:
    """The one integration of this process with these settings, for a tool that calls a bare function."""
    key = json.dumps([task, settings], sort_keys=True, default=str)
    with _LOCK:
        if key not in _OPEN:
            _OPEN[key] = Integration(task, **settings)
        return _OPEN[key]
