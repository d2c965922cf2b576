"""Judgements and rubrics of a ledger."""

from sozo.scoring.judges.ledger import Judgement
from sozo.scoring.judges.protocol import Status
from sozo.tasks.jcq.rubric import JCQ_V1
from sozo.tasks.sat.run_result import SAT_V1

RUBRICS = (JCQ_V1, SAT_V1)


SCORES = {"fluency": 4, "flexibility": 3, "originality": 2, "elaboration": 5}


OK = Judgement(
    "k1",
    "1",
    "a1",
    "judge",
    "jcq-v1",
    Status.OK,
    SCORES,
    "流暢性: 4\n柔軟性: 3\n独創性: 2\n精緻性: 5",
    "r1",
    "stop",
    100,
    20,
    0.5,
)
