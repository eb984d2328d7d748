"""A matplotlib figure as an `svg` element that several of can stand in one page, light or dark."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# drawn for the page's own colour, and no colour of a palette
INK = "#010203"
NAMESPACE = "http://www.w3.org/2000/svg"
REFERENCE = re.compile(r"url\(#([^)]+)\)")
DECIMALS = re.compile(r"(\d+\.\d{2})\d+")
# what its settings name so that it can measure texts; a page takes whatever the reader has
FAMILY = "font-family: 'DejaVu Sans', sans-serif"
# the whole page's, in a sheet of styles, is what matplotlib sets
LINES = {"stroke-linejoin": "round", "stroke-linecap": "butt"}


def svg_of(figure: Figure, name: str, title: str, caption: str) -> str:
    """The figure as one element: INK is `currentColor`, ids begin with `name`, the same figure gives the same text.

    Nothing is fetched and no style leaks: no scripts, style sheets or links. Coordinates are in points, to 0.01.
    """
    raw = io.StringIO()
    figure.savefig(raw, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    root = ET.fromstring(raw.getvalue())
    _drop(root)
    _rename(root, name)
    for element in root.iter():
        _restyle(element)
    for element in root.iter("g"):
        _gather(element)
    _head(root, name, title, caption)
    return ET.tostring(root, encoding="unicode")


def standalone(svg: str) -> str:
    """The same for a file of its own: dark lines on white, whatever shows it."""
    head, _, rest = svg.partition("</desc>")
    paper = '<rect width="100%" height="100%" fill="#ffffff" />'
    lead = '<?xml version="1.0" encoding="utf-8"?>\n'
    dark = head.replace("<svg ", '<svg color="#1a1a1a" ', 1)
    return f"{lead}{dark}</desc>{paper}{rest}\n"


def _drop(root: ET.Element) -> None:
    for parent in list(root.iter()):
        for child in list(parent):
            kind = child.tag.rpartition("}")[2]
            if kind in ("metadata", "style") or (kind in ("defs", "g") and not len(child)):
                parent.remove(child)


def _rename(root: ET.Element, name: str) -> None:
    """Ids that something refers to, numbered in the order of the document; the others go."""
    wanted = set(_references(root))
    held = [element for element in root.iter() if element.get("id") in wanted]
    names = {str(element.get("id")): f"{name}-{number}" for number, element in enumerate(held)}
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        said = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
        if "id" in said:
            said["id"] = names.get(said["id"], "")
        if "href" in said:
            said["href"] = f"#{names[said['href'][1:]]}"
        changed = {key: REFERENCE.sub(lambda at: f"url(#{names[at[1]]})", value) for key, value in said.items()}
        element.attrib.clear()
        element.attrib.update({key: value for key, value in changed.items() if value})


def _references(root: ET.Element) -> Iterator[str]:
    for element in root.iter():
        for key, value in element.attrib.items():
            if key.endswith("href"):
                yield value[1:]
            yield from REFERENCE.findall(value)


def _restyle(element: ET.Element) -> None:
    for key, value in element.attrib.items():
        said = value.replace(INK, "currentColor").replace(FAMILY, "font-family: sans-serif")
        element.set(key, DECIMALS.sub(r"\1", said) if key in ("d", "x", "y", "transform", "style") else said)


def _gather(group: ET.Element) -> None:
    """What all of several marks or lines say alike is said once."""
    if len(group) < 2 or {child.tag for child in group} not in ({"use"}, {"path"}):
        return
    for key in ("style", "clip-path"):
        said = {child.get(key) for child in group}
        if len(said) == 1 and None not in said and key not in group.attrib:
            group.set(key, str(said.pop()))
            for child in group:
                del child.attrib[key]


def _head(root: ET.Element, name: str, title: str, caption: str) -> None:
    size = {key: root.get(key, "") for key in ("width", "height", "viewBox")}
    root.attrib.clear()
    root.attrib.update({"xmlns": NAMESPACE, **size, **LINES, "style": "max-width: 100%; height: auto"})
    root.attrib |= {"role": "img", "aria-labelledby": f"{name}-title {name}-desc"}
    for at, (tag, text) in enumerate((("title", title), ("desc", caption))):
        element = ET.Element(tag, {"id": f"{name}-{tag}"})
        element.text = text
        root.insert(at, element)
