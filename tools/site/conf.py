"""How Sphinx makes the web site of the documents (make site): with the theme Furo, and
MyST for Markdown as GitHub understands it.

The search (search.js) finds what index.txt says first, and DropOldest for drop oldest.

The documents stay as they are. While Sphinx reads them, links to what is neither a
document nor a picture become links to the repository, and docs/README.md becomes the
menu. Each warning is an error: a link without a target, or a document outside of the menu.
"""

import os.path
import re
from pathlib import Path

from docutils.nodes import section
from sphinx import addnodes
from sphinx.search import SearchEnglish, languages
from sphinx.util import logging

project = html_title = "sluice"
extensions = ["myst_parser"]
myst_heading_anchors = 6  # GitHub's
root_doc = "README"
include_patterns = ["*.md", "*/*.md", "*/*/*.md", "*/*/*/*.md"]
exclude_patterns = [".*", "bin"]
html_theme = "furo"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_search_scorer = str(Path(__file__).with_name("search.js"))
pygments_style, pygments_dark_style = "a11y-light", "a11y-dark"
highlight_language = "none"  # of code without a language

REPOSITORY = "https://github.com/sluice-go/sluice"
INDEX = "docs/README"
WORDS = {}  # by place: the lines of index.txt
for line in Path(__file__).with_name("index.txt").read_text().splitlines():
    if not line.startswith("#"):
        place, _, words = line.partition(": ")
        WORDS[place] = words.split(", ")
HUMP = re.compile(r"[A-Z][a-z]+")
LINK = re.compile(r"(?<=\]\()[^)#:\s]+(?=[)#])")


class English(SearchEnglish):
    """Finds DropOldest for the words drop and oldest, too."""

    def split(self, text):
        return super().split(text) + HUMP.findall(text)


languages["en"] = English


def setup(app):
    top = Path(app.srcdir)

    def relink(match, name):
        target = os.path.normpath(os.path.join(os.path.dirname(name), match[0]))
        if not (top / target).exists() or target.endswith((".md", ".svg", ".png")):
            return match[0]
        return f"{REPOSITORY}/{'tree' if (top / target).is_dir() else 'blob'}/main/{target}"

    def read(app, name, text):
        text[0] = LINK.sub(lambda match: relink(match, name), text[0])
        if name == root_doc:
            text[0] += "".join(toctrees((top / f"{INDEX}.md").read_text()))
        elif name == "docs/adr/README":
            text[0] += toctree(":glob:", "0*")

    def index(app, doctree):
        """Adds the words of index.txt, which the search puts first."""
        anchors = {""}.union(*(node["ids"] for node in doctree.findall(section)))
        for place, words in WORDS.items():
            name, _, anchor = place.partition("#")
            if name != app.env.docname + ".md":
                continue
            if anchor not in anchors:
                logging.getLogger(__name__).warning("index.txt: no part %r", place)
            entries = [("single", word, anchor, "main", None) for word in words]
            doctree.insert(0, addnodes.index(entries=entries))

    app.connect("source-read", read)
    app.connect("doctree-read", index)


def toctrees(index):
    """Yields the menu: the links at the beginning of list items, by heading."""
    yield toctree("", f"All documents <{INDEX}>")
    for part in index.split("\n## ")[1:]:
        links = re.findall(r"^\* \[(.+?)\]\((.+?)\.md\)", part, re.MULTILINE)
        names = [(title, os.path.normpath("docs/" + to)) for title, to in links]
        entries = [f"{title} <{'self' if name == root_doc else name}>" for title, name in names]
        yield toctree(":caption: " + part.partition("\n")[0], *entries)


def toctree(option, *entries):
    """Returns a table of contents that only the menu shows."""
    return "\n".join(["\n\n```{toctree}\n:hidden:", option, *entries, "```\n"])
