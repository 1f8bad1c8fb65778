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
    variables = dict(os.environ)
    # Without bytecode each of the hundreds of processes that the tests start would compile all of graphad again. Where none is
    # to be written beside the modules, it goes into the environment.
    if variables.pop("PYTHONDONTWRITEBYTECODE", ""):
        variables.setdefault(
            "PYTHONPYCACHEPREFIX", os.path.join(os.path.dirname(os.path.dirname(python)), "bytecode")
        )
    arguments = ["-m", "pytest", "-q", "-n", workers, "--dist", "worksteal"] + arguments
    return environment.run(python, arguments, env=variables)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
