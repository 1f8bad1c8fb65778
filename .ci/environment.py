"""A virtual environment with this checkout installed in it, made from nothing but Python.

Used by the two commands of the README and by continuous integration. Standard library only, and without new
syntax, so that an old Python reaches the version check and says what is needed instead of a traceback.
"""

import hashlib
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OLDEST = (3, 11)


def say(text):
    """One line of progress, shown at once even when the output goes to a file."""
    print("* " + text)
    sys.stdout.flush()


def stop(text):
    sys.exit("error: " + text)


def prepare(extra, place=None):
    """Path of the Python in a virtual environment that holds this checkout (editable) and the packages of `extra`.

    A second call is quick: a stamp in the environment says what was installed from which pyproject.toml.
    """
    if sys.version_info < OLDEST:
        stop(f"Python {OLDEST[0]}.{OLDEST[1]} or later is needed, this is {sys.version.split()[0]}")
    place = os.path.abspath(place or os.path.join(ROOT, ".venv"))
    python = os.path.join(place, *(("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")))
    if not os.path.exists(python):
        say(f"creating a virtual environment in {place}")
        _create(place)
    stamp = os.path.join(place, f"graphad-{extra}.stamp")
    wanted = _fingerprint()
    if not os.path.exists(stamp) or _read(stamp) != wanted:
        say(f"installing graphad and its [{extra}] packages (once; takes a minute or two)")
        _install(python, ["--editable", f"{ROOT}[{extra}]"])
        with open(stamp, "w") as file:
            file.write(wanted)
    return python


def run(python, arguments, **settings):
    """Exit status of a command run in the checkout by the environment's Python."""
    return subprocess.call([python] + arguments, cwd=ROOT, **settings)


def _create(place):
    try:
        import venv
    except ImportError:
        stop(
            "this Python has no venv module; install it (on Debian and Ubuntu the package python3-venv) and try again"
        )
    try:
        import ensurepip  # noqa: F401

        with_pip = True
    except ImportError:
        with_pip = False
    if (
        not with_pip
        and subprocess.call([sys.executable, "-m", "pip", "--version"], stdout=subprocess.DEVNULL) != 0
    ):
        stop(
            "this Python has neither ensurepip nor pip; install python3-venv (Debian, Ubuntu) or pip and try again"
        )
    try:
        venv.create(place, with_pip=with_pip, clear=False, symlinks=os.name != "nt")
    except (OSError, subprocess.CalledProcessError) as error:
        stop(f"the virtual environment could not be made in {place}: {error}")


def _install(python, arguments):
    environment = dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1")
    # Where the environment has no pip of its own, the outer one installs into it.
    own = (
        subprocess.call(
            [python, "-m", "pip", "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        == 0
    )
    pip = [python, "-m", "pip"] if own else [sys.executable, "-m", "pip", "--python", python]
    for attempt in (1, 2):
        if subprocess.call(pip + ["install", "--quiet"] + arguments, env=environment) == 0:
            return
        if attempt == 1:
            say("the installation failed; trying once more")
    stop("pip could not install the packages; its own message is above (is the network reachable?)")


def _fingerprint():
    return (
        hashlib.sha256(_read(os.path.join(ROOT, "pyproject.toml")).encode("utf-8")).hexdigest() + " " + ROOT
    )


def _read(path):
    with open(path, "rb") as file:
        return file.read().decode("utf-8")
