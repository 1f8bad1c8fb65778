"""The Python interpreters on this machine that are of another version than this one: "version path", one a line.

`python .ci/interpreters.py 3.11` names one of that version, this one included. They are looked for on the path and where pyenv
keeps them; each is asked what it is, since a name promises nothing. "3.14t" is 3.14 without a global lock. Standard library only.
"""

import glob
import os
import re
import subprocess
import sys

ASK = (
    "import sys, sysconfig, venv, ensurepip; "
    "print('%d.%d' % sys.version_info[:2] + ('t' if sysconfig.get_config_var('Py_GIL_DISABLED') else ''))"
)


def candidates():
    """Files that may be a Python."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        for path in sorted(glob.glob(os.path.join(folder or ".", "python3.*"))):
            if re.fullmatch(r"python3\.\d+t?(\.exe)?", os.path.basename(path)):
                yield path
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    yield from sorted(glob.glob(os.path.join(root, "versions", "*", "bin", "python")))


def version_of(path):
    """What an interpreter says that it is, None if it does not run or cannot make environments."""
    try:
        asked = subprocess.run([path, "-c", ASK], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return asked.stdout.strip() if asked.returncode == 0 else None


def supported(version):
    """Whether graphad is for this version: 3.11 or later."""
    return tuple(map(int, version.rstrip("t").split("."))) >= (3, 11)


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else None
    found = {version_of(sys.executable): sys.executable}
    own = next(iter(found))
    for path in candidates():
        version = version_of(path)
        if version and supported(version):
            found.setdefault(version, path)
    if wanted is not None:
        if wanted not in found:
            sys.exit(f"there is no Python {wanted}")
        print(found[wanted])
        return
    for version, path in sorted(
        found.items(), key=lambda item: [int(x) for x in re.findall(r"\d+", item[0])]
    ):
        if version != own:
            print(version, path)


if __name__ == "__main__":
    main()
