"""How the site is built: `sphinx-build -W docs build/site`, without a network."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_ext")]

import graphad  # noqa: E402

project = "graphad"
author = "The graphad authors"
copyright = "The graphad authors, Apache-2.0"
version = release = graphad.__version__

extensions = ["myst_parser", "sphinx_copybutton", "reference"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_ext", "decisions/README.md"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
default_role = "code"
smartquotes = False
nitpicky = False
python_maximum_signature_line_length = 88
python_display_short_literal_types = True
add_module_names = False
toc_object_entries_show_parents = "hide"
html_theme = "furo"
html_title = "graphad"
html_static_path = ["_static"]
html_css_files = ["graphad.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": False}
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
pygments_style = "friendly"
pygments_dark_style = "monokai"
