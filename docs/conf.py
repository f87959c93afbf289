"""The settings of Sphinx for the documentation site. ``make docs`` builds it into build/docs."""

from __future__ import annotations

import re

from sphinx.application import Sphinx

import gcwsnet

project = "gcwsnet"
author = "The gcwsnet developers"
version = release = gcwsnet.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
smartquotes = False  # a value such as "auto" can be copied
default_role = "py:obj"  # `name` in a docstring is a link where the reference has the name

autodoc_typehints = "none"  # the sections of a docstring have the types
autodoc_inherit_docstrings = False
numpydoc_show_class_members = False

myst_heading_anchors = 4  # the anchors of headings are those of GitHub

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("gcwsnet",),
    "reference_url": {"gcwsnet": None},
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "notebook_extensions": set(),
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "furo"
html_title = f"gcwsnet {release}"
html_static_path = ["_static", "play"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False


def link_to_pages(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Make ``docs/NAME.md`` in a docstring a link to that page."""
    lines[:] = [re.sub(r"`{0,2}\bdocs/([\w-]+)\.md`{0,2}", r":doc:`/\1`", line) for line in lines]


def skip_members(app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object) -> bool:
    """Leave what other packages document to them, and the fields of tuples to their class."""
    elsewhere = str(getattr(obj, "__module__", None)).startswith(("river.", "sklearn.", "torch."))
    return skip or elsewhere or str(obj.__doc__).startswith("Alias for field number")


def setup(app: Sphinx) -> None:
    """Register the functions above."""
    app.connect("autodoc-process-docstring", link_to_pages)
    app.connect("autodoc-skip-member", skip_members)
