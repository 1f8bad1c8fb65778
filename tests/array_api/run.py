"""Run the public test suite of the array API standard on `graphad.numpy`, from a checkout of it beside the project.

    git clone --recurse-submodules https://github.com/data-apis/array-api-tests ../array-api-tests
    pip install -r ../array-api-tests/requirements.txt
    python -m tests.array_api.run                        # all of it, with few examples for each test
    python -m tests.array_api.run --examples 100 -n 2 array_api_tests/test_linalg.py

What stands behind the options goes to pytest: files of the suite, `-k`, `-n`, `-x`. `skips.txt` says what is not run, and why.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIPS = Path(__file__).with_name("skips.txt")
VERSION = "2025.12"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", type=Path, default=ROOT.parent / "array-api-tests", help="the checkout")
    parser.add_argument("--examples", type=int, default=10, help="how many examples for each test")
    options, rest = parser.parse_known_args()
    if not (options.suite / "array_api_tests").is_dir():
        parser.error(f"{options.suite} is not a checkout of array-api-tests; name it with --suite.")
    environment = os.environ | {
        "ARRAY_API_TESTS_MODULE": "exec('from tests.array_api.namespace import xp')",
        "ARRAY_API_TESTS_VERSION": VERSION,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")])),
    }
    chosen = rest if any("array_api_tests" in word for word in rest) else ["array_api_tests", *rest]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--disable-deadline",
        "--max-examples",
        str(options.examples),
    ]
    command += [
        f"--skips-file={SKIPS}",
        "-W",
        "ignore",
        *chosen,
    ]  # a path apart would move the root of the tests
    return subprocess.run(command, cwd=options.suite, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
