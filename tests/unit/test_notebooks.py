"""What a notebook shows of the package's objects: short lines, HTML, pictures."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

import gpgpu_legacy as gl
from gpgpu_legacy.api.programs import make_drawing, trace_drawing
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.present.grid import Grid

HOSTILE = "<script>alert('1')</script>&\""
VOID = {"br", "meta", "img", "input", "hr", "link"}


class Reader(HTMLParser):
    """The elements of HTML, the attributes of the last, and the text.

    AssertionError where elements do not nest.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        self.text += data


def program(name="double.fp"):
    return gl.assemble(
        "!!ARBfp1.0\nTEMP r;\nTEX r, fragment.texcoord[0], texture[0], RECT;\n"
        "ADD result.color, r, r;\nEND",
        name,
    )


def pipeline(name="twice", texture="x", repeats=3):
    p = gl.Pipeline(name)
    x, y = p.input(texture, 2, 3), p.texture("y", 3, 2)
    with p.repeat(repeats):
        p.draw(program(), {0: x}, into=y)
        p.copy(y, x)
    p.output("out", x)
    return p


def run():
    p = gl.find("larson-mcallister")
    return p.run(A=[[1.0, 2.0]], B=[[3.0], [4.0]], executor="numpy", check=True)


def traced():
    drawing = make_drawing(program(), 2, 2, {0: ("RECT", np.ones((2, 2), np.float32))})
    return trace_drawing(drawing, (1, 0))


def everything():
    p = pipeline()
    return {
        "plan": (p.plan(), ("twice", "6 passes", "x 2×3", "out 2×3")),
        "program": (program(), ("double.fp", "2 instructions", "texture[0] RECT")),
        "run": (run(), ("larson-mcallister", "C 1×1", "numpy", "ms", "GFLOPS")),
        "counts": (p.count(), ("passes=6, draws=3", "lookup=18", "copy_bytes=")),
        "verdict": (p.check("radeon-9700-pro"), ("twice", "radeon-9700-pro", "loads")),
        "trace": (p.trace((1, 1)), ("texel 1,1", "twice")),
        "trace of a program": (traced(), ("texel 1,0", "color[0]", "double.fp")),
        "figure": (p.figure(), ("twice", "6 of 6 passes", "numpy")),
        "grid": (Grid("g", "A table", ("a", "b"), ((1, 2),)), ("g", "A table", "1 rows", "a, b")),
    }


EVERYTHING = list(everything())


@pytest.mark.parametrize("what", EVERYTHING)
def test_a_repr_is_one_line_with_what_matters(what):
    thing, words = everything()[what]
    text = repr(thing)
    assert "\n" not in text
    assert len(text) < 300
    for word in words:
        assert word in text, text


@pytest.mark.parametrize("what", [w for w in EVERYTHING if w not in {"program", "figure"}])
def test_the_html_is_well_formed(what):
    thing, words = everything()[what]
    html = Reader(thing._repr_html_())
    assert {"table", "svg"} & set(html.tags)
    shown = html.text.replace("\u202f", "")
    assert {"grid": "A table"}.get(what, words[0].partition("=")[0].split()[0]) in shown


def test_names_are_escaped_everywhere():
    grid = Grid(HOSTILE, HOSTILE, (HOSTILE,), ((HOSTILE,),), (HOSTILE,))
    hostile = pipeline(HOSTILE, HOSTILE)
    shown = [
        grid,
        hostile,
        hostile.plan(),
        hostile.run({HOSTILE: np.ones((2, 3))}, executor="numpy"),
        hostile.check("radeon-9700-pro"),
        hostile.trace((1, 1)),
    ]
    for thing in shown:
        html = Reader(thing._repr_html_())
        assert "script" not in html.tags, thing
        assert "<script" not in thing._repr_html_(), thing
        assert "<script>" in html.text, thing


# The diagram -----------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def texts(root):
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


def test_a_diagram_has_a_box_for_each_pass_and_folds_repeats():
    root = ElementTree.fromstring(pipeline(repeats=7).plan()._repr_html_())
    boxes = [r for r in root.iter(f"{SVG}rect") if "stroke-dasharray" not in r.attrib]
    frames = [r for r in root.iter(f"{SVG}rect") if "stroke-dasharray" in r.attrib]
    assert (len(boxes), len(frames)) == (2, 1)
    shown = texts(root)
    for text in ("repeat 7 times", "draw double.fp", "copy", "x", "y", "in: x 2×3", "out: out 2×3"):
        assert text in shown
    assert "passes 1, 3, 5, … 13" in shown
    (frame,) = frames
    for box in boxes:
        assert float(frame.get("y")) < float(box.get("y"))
        bottom = float(box.get("y")) + float(box.get("height"))
        assert bottom < float(frame.get("y")) + float(frame.get("height"))


# The player ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["twice", HOSTILE])
def test_the_player_is_a_frame_that_holds_the_whole_page(name):
    shown = gl.player(pipeline(name), {"x": np.ones((2, 3))}, height=321)
    html = Reader(shown._repr_html_())
    assert html.tags == ["iframe"]
    assert html.attributes["srcdoc"] == shown.page
    assert name in html.attributes["title"]
    assert "height: 321px" in html.attributes["style"]
    with pytest.raises(InputError, match="browsers do not run"):
        gl.player(gl.find("mali-sgemm", n=8))
