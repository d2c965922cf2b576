"""PBIG: product ideas from patents, rated in stages by a judge."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sozo.data.errors import UserError
from sozo.data.foreign import nfkc
from sozo.data.jsonl import first_object, write_records
from sozo.data.prompts import fill, prompt
from sozo.data.schema import FAILED, never_came, utf8_safe
from sozo.scoring.distance import distance_to_others
from sozo.scoring.embeddings import WordVectors, make_encoder
from sozo.scoring.judges.criterion import PROMPT, criterion_rubric
from sozo.scoring.judges.protocol import ToJudge
from sozo.scoring.judges.run import Judging
from sozo.scoring.measure import LEVEL
from sozo.scoring.statistics import mean_interval
from sozo.tasks.held_out import fingerprint, refuse
from sozo.tasks.judged import LEDGER, JudgedTask
from sozo.tasks.pbig.experts import Expert, judge_in_stages
from sozo.tasks.pbig.finished import PATENTS, ROWS, FinishedPbig
from sozo.tasks.pbig.ideas import (
    LIMITS,
    Patent,
    idea_text,
    parse_idea,
    patent_text,
    rated_text,
    read_ideas,
    read_patents,
    trial_ideas,
    trial_patents,
)
from sozo.tasks.pbig.rows import CRITERIA, DISTANCE, MEASURES, SAME_TITLE, JudgedIdea
from sozo.tasks.pbig.settings import LANGUAGES, PbigSettings, digest
from sozo.tasks.pbig.view import PbigView
from sozo.tasks.task import Answer, Complete, Item, Outcome, Row


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
    rubrics = tuple(criterion_rubric(criterion) for criterion in CRITERIA)
    Finished = FinishedPbig
    view = PbigView()
    settings: PbigSettings
    experts: Sequence[Expert] = (Expert("judge", tuple(CRITERIA)),)  # who judges: one that imitates nobody

    @cached_property
    def patents(self) -> tuple[Patent, ...]:
        """What ideas are asked from."""
        if self.settings.pbig_patents is None:
            return trial_patents()
        patents = read_patents(Path(self.settings.pbig_patents))
        if len(patents) < 2:
            raise UserError(f"{self.settings.pbig_patents}: holds one patent; give two or more")
        return patents

    def items(self) -> Sequence[Item]:
        language = self.settings.pbig_language
        if language not in LANGUAGES:
            raise UserError(f"pbig_language must be one of {', '.join(LANGUAGES)}, not {language}")
        asks = prompt(LANGUAGES[language])
        shown = [(patent.id, patent_text(patent)) for patent in self.patents]
        return [Item(name, fill(asks, patent=text), {"question": text}) for name, text in shown]

    def deciding(self) -> dict[str, Any]:
        """The patents' content, the language, who judges by whose history, and what tells ideas apart."""
        judge = self.known_judge
        names = [expert.name for expert in self.experts if expert.history]
        histories = [expert.describe() for expert in self.experts]
        return {
            "patents_sha256": digest(map(asdict, self.patents)),
            "num_patents": len(self.patents),
            "language": self.settings.pbig_language,
            "experts": names,
            "history_sha256": digest(histories) if names else None,
            "embedding_model": self.settings.pbig_embedding_model,
            "embedding_revision": self.settings.pbig_embedding_revision,
            "judge": {"model": judge.name, "prompt": PROMPT, **judge.parameters},
        }

    def read_answers(self, path: Path, source: str | None) -> Iterable[Answer]:
        """A file of ideas (`read_ideas`), or of answers as they were written (columns item and text)."""
        if "patent" not in first_object(path):
            return super().read_answers(path, source)
        answers = []
        # As they stand, so that what is too long is cut and counted as a model's is.
        for idea in read_ideas(path, {patent.id for patent in self.patents}, whole=True):
            text = json.dumps({name: getattr(idea, name) for name in LIMITS}, ensure_ascii=False)
            answers.append(Answer(idea.id, idea.patent, text, source or idea.source or path.name))
        return answers

    @cached_property
    def vectors(self) -> WordVectors:
        """By which ideas are apart."""
        model, revision = self.settings.pbig_embedding_model, self.settings.pbig_embedding_revision
        return WordVectors(make_encoder(model, revision=revision, texts=True))

    def score_together(self, item: Item, answers: Sequence[Answer], rows: Sequence[Row]) -> list[Row]:
        """Of two ideas or more for a patent how far each is from the others, and whether one of them has its title."""
        if len(rows) < 2:
            return list(rows)
        titles = [_plain(row.facts["title"]) for row in rows]
        values = [{SAME_TITLE: float(titles.count(title) > 1)} for title in titles]
        unit = self.vectors.unit([idea_text(row.facts) for row in rows])
        known = np.flatnonzero(unit.any(axis=1))
        if len(known) > 1:
            for k, distance in zip(known, distance_to_others(unit, known[None])[0], strict=True):
                values[k][DISTANCE] = float(distance)
        return [Row(own) for own in values]

    def finish(self, run: Complete) -> Outcome:
        """Have the ideas judged, as far as the ledger lacks judgements; means, and how far ideas are apart."""
        patents = {patent.id: patent for patent in self.patents}
        parsed, ideas = [], []
        for answer in run.answers:
            idea = parse_idea(answer.text)
            parsed.append(idea)
            if idea.fields is not None:
                ideas.append(ToJudge(answer.id, answer.item, "", rated_text(patents[answer.item], idea.fields)))
        asked = {item.id: item for item in self.items()}
        alone = [Row(reason=idea.reason and str(idea.reason), facts=idea.fields or {}) for idea in parsed]
        together = self.with_others([asked[answer.item] for answer in run.answers], run.answers, alone)
        opinions, judging = judge_in_stages(self.session, self.experts, ideas, run.folder / LEDGER)
        rows = [
            JudgedIdea(
                id=answer.id,
                item=answer.item,
                text=utf8_safe(answer.text),
                finish_reason=answer.finish_reason,
                reason=FAILED if never_came(answer) else idea.reason and str(idea.reason),
                fields=idea.fields,
                cut=idea.cut,
                opinions={e.name: opinions[e.name, answer.id] for e in self.experts} if idea.fields else {},
                together=row.values,
            )
            for answer, idea, row in zip(run.answers, parsed, together, strict=True)
        ]
        write_records(run.folder / PATENTS, self.patents)
        write_records(run.folder / ROWS, rows)
        return Outcome(self._metrics(run, rows, judging), judging.stopped)

    def _metrics(self, run: Complete, rows: Sequence[JudgedIdea], judging: Judging) -> dict[str, Any]:
        finished = self.written(run.folder)
        experts = {}
        for expert in self.experts:
            worths = [row.worth(expert.name) for row in rows]
            mean = mean_interval([worth for worth in worths if worth is not None])
            experts[expert.name] = {
                **{name: getattr(mean, name) for name in ("mean", "low", "high", "n", "reason")},
                "level": LEVEL,
            }
        return {
            "source": run.source or "",
            "judge": self.known_judge.name,
            "prompt": PROMPT,
            "num_items": len(self.patents),
            "num_answers": len(rows),
            "valid": sum(row.reason is None for row in rows),
            "reasons": dict(sorted(Counter(row.status for row in rows if row.status).items())),
            "cut": {name: sum(name in row.cut for row in rows) for name in LIMITS},
            "measures": {measure.name: asdict(finished.estimate(measure)) for measure in self.measures},
            "experts": experts,
            **judging.to_json(),
        }

    @classmethod
    def refuse_training(cls, items: Iterable[Item]) -> None:
        """The trial's technologies and ideas, in whatever prompt, column or answer they stand."""
        texts = []
        for item in items:
            for text in (item.prompt, *item.columns.values()):
                if isinstance(text, str):
                    # A prompt's lines name what they show ("Abstract: ..."); an answer is JSON.
                    shown = [line.partition(": ")[2] for line in text.splitlines()]
                    texts += [text, *shown, *(parse_idea(text).fields or {}).values()]
        refuse(texts, _held_out(), "the PBIG trial")


@cache
def _held_out() -> frozenset[str]:
    """What is long enough to be nobody else's: abstracts, claims, and ideas' descriptions."""
    texts = [text for patent in trial_patents() for text in (patent.abstract, *patent.claims)]
    return frozenset(fingerprint(text) for text in (*texts, *(idea.description for idea in trial_ideas())))


def _plain(title: str) -> str:
    """What of a title tells it from another one."""
    return "".join(nfkc(title).casefold().split())
