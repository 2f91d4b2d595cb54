"""The docs site: `make docs` builds it, warnings are errors."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from depyf.version import __version__

project = "depyf"
author = "the depyf authors"
copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["README.md", "_build"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "html_image"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_mock_imports = ["torch"]

copybutton_prompt_text = r"\$ |>>> |\(Pdb\) "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = "depyf"
html_static_path = ["pictures"]
html_css_files = ["site.css"]
html_theme_options = {
    "light_css_variables": {"font-stack": "system-ui, sans-serif", "font-stack--monospace": "ui-monospace, monospace"},
    "dark_css_variables": {"font-stack": "system-ui, sans-serif", "font-stack--monospace": "ui-monospace, monospace"},
}
pygments_style = "default"
pygments_dark_style = "github-dark"

# A `console` block that shows an interactive session, and Python that torch prints, are not always in a grammar.
suppress_warnings = ["misc.highlighting_failure"]


def setup(app):
    """Show links to files of the project that are no pages of the site as their names."""

    def without_links_out(_app, page, source):
        if "/" not in page:  # a page in a folder of its own has links to pages beside that folder
            source[0] = re.sub(r"\[([^\]]+)\]\(\.\./([^)#]+)(?:#[^)]*)?\)", r"\1 (`\2`)", source[0])

    app.connect("source-read", without_links_out)
