"""Where the examples put their pictures: a folder `output` beside them, or the one that GRAPHAD_EXAMPLES_OUTPUT names."""

import os
import sys
from pathlib import Path

try:
    import matplotlib
except ModuleNotFoundError as error:
    sys.exit(f"error: this example draws and needs {error.name}; pip install matplotlib")

matplotlib.use("Agg")
from matplotlib import pyplot

pyplot.rcParams["figure.figsize"] = (8, 6)


def save(name: str) -> Path:
    """Write the current figure to a file, close it, and say where it is."""
    folder = Path(os.environ.get("GRAPHAD_EXAMPLES_OUTPUT", Path(__file__).parent / "output"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    pyplot.tight_layout()
    pyplot.savefig(path, dpi=90)
    pyplot.close()
    print(f"              picture: {path}")
    return path
