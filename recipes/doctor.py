"""What is installed here and what is missing for which feature, a line each, with the command that mends it.

    make doctor
    python recipes/doctor.py --no-network

Seconds, on any machine with Python, before anything is installed. It changes nothing and shows no key. Exit status 1 if
something is missing without which nothing works, else 0. A GPU is measured by gpu_check.py.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).parents[1] / "src"))  # nothing may be installed, sozo neither

from checkup.finding import State, safely
from checkup.machine import (
    Reach,
    check_base,
    check_builds,
    check_extras,
    check_gpus,
    check_jumanpp,
    check_logins,
    check_machine,
    check_models,
)


def main() -> int:
    """Look, print, and say whether the base install is whole."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-network", action="store_true", help="ask no server")
    args = parser.parse_args()
    # Servers are asked while the rest is looked at.
    network = {} if args.no_network else {"Network": [Reach().findings]}
    sections = {
        "Needed": [check_base],
        "Optional": [check_extras, check_jumanpp],
        "This machine": [check_machine, check_builds, check_gpus],
        "Logins and models": [check_logins, check_models],
    }
    states = []
    for heading, checks in (sections | network).items():
        print(heading)
        for check in checks:
            for finding in safely(getattr(check, "__name__", heading), check):
                print(f"  {finding}", flush=True)
                states.append(finding.state)
    counts = {state: states.count(state) for state in State}
    print(", ".join(f"{count} {state}" for state, count in counts.items()))
    return 1 if counts[State.NEEDED] else 0


if __name__ == "__main__":
    sys.exit(main())
