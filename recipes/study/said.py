"""When a study's claims were written: before its first run, or when some of what they are about was there already."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from sozo.data.record import read_json, write_json
from study.claims import Claim

_FILE = "claims.json"


def note_claims(folder: Path, claims: tuple[Claim, ...]) -> None:
    """Write down those claims that are new, with the time and how many steps were finished by then."""
    noted = _noted(folder)
    said = [entry["claim"] for entry in noted]
    now, finished = datetime.now(UTC).isoformat(timespec="seconds"), len(list(folder.glob("*/metrics.json")))
    new = [{"claim": asdict(c), "since": now, "finished": finished} for c in claims if asdict(c) not in said]
    if new:
        write_json(folder / _FILE, {"claims": [*noted, *new]})


def when_said(folder: Path, claim: Claim) -> str:
    """When a claim was first there, in words; one that was changed since is a new one."""
    entry = next((entry for entry in _noted(folder) if entry["claim"] == asdict(claim)), None)
    if entry is None:
        return "not written down before"
    if not entry["finished"]:
        return "before the first run"
    return f"{entry['since'][:16].replace('T', ' ')} UTC, when {entry['finished']} steps were finished"


def _noted(folder: Path) -> list[dict]:
    return list(read_json(folder / _FILE)["claims"]) if (folder / _FILE).is_file() else []
