"""Set up graphad on a fresh machine and run its tests.

    python3 tests/setup_and_run.py [--venv PLACE] [arguments of pytest]

Needs Python 3.11 or later and nothing else; everything is installed into `.venv` inside the checkout.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ".ci"))
import environment


def main(arguments):
    place = None
    if arguments[:1] == ["--venv"]:
        place, arguments = arguments[1], arguments[2:]
    python = environment.prepare("dev", place)
    workers = str(min(4, os.cpu_count() or 1))
    environment.say(f"running the tests in {workers} processes")
    return environment.run(python, ["-m", "pytest", "-q", "-n", workers, "--dist", "worksteal"] + arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
