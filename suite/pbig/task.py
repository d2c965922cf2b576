"""PBIG: product ideas from patents, rated in stages by a judge."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sozo.data.errors import UserError
from sozo.data.foreign import nfkc
from sozo.data.prompts import fill, prompt
from sozo.scoring.distance import distance_to_others
from sozo.scoring.embeddings import WordVectors, make_encoder
from sozo.scoring.final_text import no_answer
from sozo.scoring.judges.protocol import ToJudge
from sozo.scoring.judges.run import NOT_ASKED, Judging
from sozo.suite.pbig.ideas import (
    LIMITS,
    Patent,
    idea_text,
    parse_idea,
    patent_text,
    read_patents,
    trial_ideas,
    trial_patents,
)
from sozo.suite.pbig.rows import (
    CRITERIA,
    DISTANCE,
    MEASURES,
    SAME_TITLE,
    WORTH,
    values_of,
)
from sozo.suite.pbig.run_result import PbigRunResult
from sozo.suite.pbig.settings import LANGUAGES, PbigSettings, digest
from sozo.suite.pbig.stages import Opinion, judge_in_stages
from sozo.suite.pbig.view import PbigView
from sozo.suite.rubrics.criterion import PROMPT, criterion_rubric
from sozo.tasks.held_out import fingerprint, refuse
from sozo.tasks.judged import JudgedTask
from sozo.tasks.task import Answer, Complete, Item, Row

# By the answers' ids, with what they make the ideas worth
Opinions = dict[str, tuple[Mapping[str, float], Opinion]]


class Pbig(JudgedTask):
    """One product idea for each patent, or several to see how far apart they are.

    >>> len(Pbig().items())
    24
    """

    name = "pbig"
    title = "Product ideas from patents"
    Settings = PbigSettings
    measures = MEASURES
    max_new_tokens = 2048  # four fields of 1,000 characters in all
    answer_columns: ClassVar[Mapping[str, str]] = {
        "answer": "+".join(LIMITS),
        "id": "id",
        "item": "patent",
        "source": "source",
    }
    rubrics = tuple(criterion_rubric(criterion) for criterion in CRITERIA)
    result_type = PbigRunResult
    view = PbigView()
    settings: PbigSettings

    @cached_property
    def patents(self) -> tuple[Patent, ...]:
        """What ideas are asked from."""
        if self.settings.pbig_patents is None:
            return trial_patents()
        patents = read_patents(Path(self.settings.pbig_patents))
        if len(patents) < 2:
            raise UserError(
                f"{self.settings.pbig_patents}: holds one patent; give two or more"
            )
        return patents

    def items(self) -> Sequence[Item]:
        language = self.settings.pbig_language
        if language not in LANGUAGES:
            raise UserError(
                f"pbig_language must be one of {', '.join(LANGUAGES)}, not {language}"
            )
        asks = prompt(LANGUAGES[language], __package__)
        shown = [(patent, patent_text(patent)) for patent in self.patents]
        return [
            Item(p.id, fill(asks, patent=text), {"question": text}, p.title, p.domain)
            for p, text in shown
        ]

    def deciding(self) -> dict[str, Any]:
        """The patents' content, too, and all of the judge that decides a reply."""
        judge = self.known_judge
        return {
            "patents_sha256": digest(map(asdict, self.patents)),
            "judge": {"model": judge.name, "prompt": PROMPT, **judge.parameters},
            **super().deciding(),
        }

    def describe(self) -> dict[str, Any]:
        """What tells ideas apart, which need not be loaded."""
        return {
            "embedding_model": self.settings.pbig_embedding_model,
            "embedding_revision": self.settings.pbig_embedding_revision,
        }

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"patents": self.settings.pbig_patents}

    @cached_property
    def vectors(self) -> WordVectors:
        """By which ideas are apart."""
        model = self.settings.pbig_embedding_model
        revision = self.settings.pbig_embedding_revision
        return WordVectors(make_encoder(model, revision=revision, texts=True))

    def score_together(
        self, item: Item, answers: Sequence[Answer], rows: Sequence[Row]
    ) -> list[Row]:
        """Of two ideas or more for a patent how far each is from the others, and whether one of them has its title."""
        if len(rows) < 2:
            return list(rows)
        titles = [_plain(row.facts["title"]) for row in rows]
        values = [{SAME_TITLE: float(titles.count(title) > 1)} for title in titles]
        unit = self.vectors.unit([idea_text(row.facts) for row in rows])
        known = np.flatnonzero(unit.any(axis=1))
        if len(known) > 1:
            for k, distance in zip(
                known, distance_to_others(unit, known[None])[0], strict=True
            ):
                values[k][DISTANCE] = float(distance)
        return [Row(own) for own in values]

    def judged(
        self, items: Sequence[Item], answers: Sequence[Answer], ledger: Path
    ) -> tuple[list[Row], Judging]:
        """Ideas are asked about, as far as the ledger lacks judgements; and how far they are apart."""
        ideas, alone = [], []
        for item, answer in zip(items, answers, strict=True):
            idea = parse_idea(answer.text)
            reason = no_answer(answer) or (idea.reason and str(idea.reason))
            alone.append(Row(reason=reason, facts=idea.fields or {}))
            if idea.fields:
                shown = f"{item.columns['question']}\n{idea_text(idea.fields)}"
                ideas.append(ToJudge(answer.id, answer.item, "", shown))
        together = self.with_others(items, answers, alone)
        opinions, judging = self.opinions(ideas, ledger)
        rows = []
        for answer, row, apart in zip(answers, alone, together, strict=True):
            if row.facts:
                values, opinion = opinions[answer.id]
                reason = (
                    None
                    if WORTH in values
                    else next(iter(opinion.failed.values()), NOT_ASKED)
                )
                row = Row({**values, **apart.values}, reason, asdict(opinion))
            rows.append(row)
        return rows, judging

    def opinions(
        self, ideas: Sequence[ToJudge], ledger: Path
    ) -> tuple[Opinions, Judging]:
        """What the judge says of ideas."""
        asked = [replace(idea, id=f"{idea.id} judge") for idea in ideas]
        opinions, judging = judge_in_stages(self.session, asked, ledger)
        pairs = zip(ideas, opinions.values(), strict=True)
        return {
            idea.id: (values_of(opinion.scores), opinion) for idea, opinion in pairs
        }, judging

    def finish(self, run: Complete) -> dict[str, Any]:
        """Beside the means how many answers are ideas, and in which fields they were too long."""
        parsed = [parse_idea(answer.text) for answer in self.written(run.folder).scored]
        cut = Counter(name for idea in parsed for name in idea.cut)
        ideas = sum(idea.fields is not None for idea in parsed)
        return super().finish(run) | {
            "usable": ideas,
            "cut": {name: cut[name] for name in LIMITS},
        }

    @classmethod
    def refuse_training(cls, items: Iterable[Item]) -> None:
        """The trial's technologies and ideas, in whatever prompt, column or answer they stand."""

        def inside(text: str) -> list[str]:
            # A prompt's lines name what they show ("Abstract: ..."); an answer is JSON.
            return [
                *(line.partition(": ")[2] for line in text.splitlines()),
                *(parse_idea(text).fields or {}).values(),
            ]

        refuse(items, _held_out(), "the PBIG trial", inside)


@cache
def _held_out() -> frozenset[str]:
    """What is long enough to be nobody else's: abstracts, claims, and ideas' descriptions."""
    texts = [
        text for patent in trial_patents() for text in (patent.abstract, *patent.claims)
    ]
    return frozenset(
        fingerprint(text)
        for text in (*texts, *(idea.description for idea in trial_ideas()))
    )


def _plain(title: str) -> str:
    """What of a title tells it from another one."""
    return "".join(nfkc(title).casefold().split())
