"""What can be set about PBIG: whose patents, in which language, who judges, and what tells ideas apart."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sozo.data.settings import rare_setting, setting
from sozo.scoring.embeddings import DEFAULT_ENCODER
from sozo.scoring.judges.protocol import JudgeSettings

# The language of the prompt, and so of the ideas: whose text asks for one.
LANGUAGES: dict[str, str] = {"ja": "pbig_idea_ja", "en": "pbig_idea"}


@dataclass(frozen=True)
class PbigSettings(JudgeSettings):
    """Which patents are asked about, and who judges the ideas."""

    pbig_patents: str | None = setting(
        None,
        "JSONL file of patents (id, title, abstract, claims); default: sozo's 24 invented technologies, a trial.",
        affects_result=False,
    )
    pbig_language: str = setting(
        "ja",
        "ja or en: in which language ideas are asked for (the paper's are English).",
    )
    pbig_embedding_model: str = setting(
        DEFAULT_ENCODER, "Encoder that tells how far apart ideas for a patent are."
    )
    pbig_embedding_revision: str | None = rare_setting(
        None, "Hub revision of that encoder."
    )


def digest(rows: Iterable[Any]) -> str:
    """SHA-256 of JSON values, such as patents."""
    content = json.dumps(list(rows), ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
