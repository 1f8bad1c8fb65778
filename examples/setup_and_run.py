"""Set up graphad on a fresh machine and run its tour: trace, differentiate, compile, save, load elsewhere, plot.

    python3 examples/setup_and_run.py [--venv PLACE] [arguments of tour.py]

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
    python = environment.prepare("examples", place)
    environment.say("running examples/tour.py")
    status = environment.run(python, [os.path.join("examples", "tour.py")] + arguments)
    environment.say("done" if status == 0 else f"the tour ended with status {status}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
