"""The page of one plan and the other algorithms in a browser: what is shown was computed."""

from __future__ import annotations

import re
from functools import cache
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np
import pytest
from browser_pages import EACH_RENDERER, PHONE, Opener, View, section_of
from playwright.sync_api import expect

from gpgpu_legacy import Pipeline, find
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.languages.shaders import load_kernel
from gpgpu_legacy.page.one_plan import MOST_NUMBERS, plan_page
from gpgpu_legacy.plan.expand import expand, settled
from gpgpu_legacy.plan.plan import Plan

if TYPE_CHECKING:
    from playwright.sync_api import Page

N = 16


@cache
def sort() -> Pipeline:
    return find("bitonic-sort", n=N)


def sort_plan() -> Plan:
    return sort().plan()


@cache
def sort_page() -> str:
    return plan_page(sort())


def to_the_end(page: Page) -> None:
    page.get_by_role("button", name="To the end").click()


def texels(page: Page, texture: str, width: int, height: int) -> list[float]:
    """The r of each texel, as the page says it of the one that is chosen; row 0 is the lowest."""
    canvas = page.get_by_label(f"{texture}: ", exact=False).first
    values = []
    for y in range(height):
        for x in range(width):
            box = canvas.bounding_box()
            assert box
            across, down = (x + 0.5) / width, (height - y - 0.5) / height
            place = {"x": across * box["width"], "y": down * box["height"]}
            canvas.click(position=place)
            said = page.locator(".texels-said", has_text="texel").inner_text()
            where, value = said.split(": ")
            assert where == f"texel ({x}, {y})"
            values.append(float(value.split(",")[0]))
    return values


@EACH_RENDERER
def test_a_sort_ends_sorted(open_page: Opener, renderer: str) -> None:
    page = open_page.html(sort_page())
    to_the_end(page)
    given = sort().inputs()
    name = sort_plan().outputs[0].texture
    found = texels(page, name, 4, 4)
    assert np.float32(found).tolist() == np.sort(given["values"]).ravel().tolist()
    assert renderer in page.locator(".plan > .note").inner_text().lower()
    assert "bit for bit" in page.locator(".plan > .note").inner_text()


def test_the_counts_are_the_packages(open_page: Opener) -> None:
    page = open_page.html(sort_page())
    counts = count_plan(sort_plan())
    to_the_end(page)
    rows = {
        row.locator("th").inner_text(): [int(t.replace("\u202f", "")) for t in texts]
        for row in page.locator(".plan-counts tbody tr").all()
        if (texts := row.locator("td").all_inner_texts())
    }
    each = counts.lookup // sort_plan().pass_count
    assert rows["lookups"] == [each, counts.lookup, counts.lookup]
    assert rows["arithmetic instructions"][2] == counts.arithmetic
    assert rows["bytes requested"][2] == counts.bytes_requested
    page.get_by_role("button", name="To the beginning").click()
    assert "Before the first pass" in page.locator(".plan-moment").inner_text()


def test_a_fragment_is_traced_as_the_package_traces_it(open_page: Opener) -> None:
    plan, number = sort_plan(), 3
    target = expand(plan).steps[number - 1].targets[0]
    page = open_page.html(sort_page(), at=f"plan.pass={number}&plan.texel={target}:2,1")
    trace = sort().trace((2, 1), textures=[target], instructions=True, every_pass=True)
    visit = next(visit for visit in trace.visits if visit.pass_ == number)
    steps = page.locator(".plan-trace li")
    assert steps.count() == len(sort_plan().programs()[0].instructions)
    assert f"({2}, {1}) of {target}" in page.locator(".plan-fragment h3").inner_text()
    program = page.locator(".plan-program pre").inner_text().splitlines()
    assert [s.locator("code").inner_text() for s in steps.all()] == program[-1 - steps.count() : -1]
    ending = page.locator(".trace-end strong").inner_text()
    assert float(ending) == pytest.approx(float(np.ravel(visit.written[0].after)[0]))
    marked = page.get_by_label(f"{target}: ", exact=False).first.get_attribute("aria-label") or ""
    assert "Written: columns 0 to 3, rows 0 to 3" in marked


def test_the_moment_is_in_the_address(open_page: Opener) -> None:
    page = open_page.html(sort_page())
    page.get_by_role("button", name="Forward").click()
    page.get_by_label("y: ", exact=False).first.press("ArrowRight")
    assert page.evaluate("location.hash") == "#plan.pass=1&plan.texel=y%3A0%2C0"
    again = open_page.html(sort_page(), at="plan.pass=1&plan.texel=y%3A0%2C0")
    assert again.locator(".plan").inner_text() == page.locator(".plan").inner_text()


def test_the_keys_choose_a_texel(open_page: Opener) -> None:
    page = open_page.html(sort_page(), PHONE)
    canvas = page.get_by_label("values: ", exact=False).first
    for key, place in (("Enter", "0, 0"), ("ArrowRight", "1, 0"), ("ArrowUp", "1, 1"),
                       ("ArrowDown", "1, 0"), ("ArrowDown", "1, 0")):  # fmt: skip
        canvas.press(key)
        said = page.locator(".texels-said", has_text="texel").inner_text()
        assert said.startswith(f"texel ({place})")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE.width


def test_a_large_plan_is_compared_where_that_is_quick_and_traced_from_the_gpu(
    open_page: Opener,
) -> None:
    built = find("jacobi", n=192, passes=40)
    page = open_page.html(plan_page(built), at="plan.pass=40&plan.texel=x:96,97")
    assert "bit for bit" not in page.locator(".plan > .note").inner_text()
    run = built.run(executor="numpy")
    said = page.locator(".texels-said", has_text="texel").inner_text()
    row, column = 97 - 1, 96 - 1  # a ring of texels is the boundary
    expected = float(run.x[row, column])
    assert float(said.split(": ")[1]) == pytest.approx(expected, rel=1e-5)
    traced = float(page.locator(".trace-end strong").inner_text().replace("−", "-"))
    assert traced == pytest.approx(expected, rel=1e-5)


SCALED = """!!ARBfp1.0
PARAM by = {0.5, 0.5, 0.5, 0.5};
TEMP t;
TEX t, fragment.texcoord[0], texture[0], RECT;
MUL t, t, by;
ADD result.color, t, {1, 1, 1, 1};
END
"""


def test_constants_are_edited_and_the_passes_run_again(open_page: Opener) -> None:
    """(x · 0.5 + 1) twice is x / 4 + 1.5; with 2 and then −3, 4x + 3 and 4x − 9."""
    p = Pipeline("scaled")
    x, y = p.input("x", 1, 3), p.texture("y", 3, 1)
    with p.repeat(2):
        p.draw(SCALED, {0: x}, into=y)
        p.swap(x, y)
    p.output("out", x)
    page = open_page.html(plan_page(p, {"x": [[1, 2, 3]]}), at="plan.pass=2")
    assert texels(page, "x", 3, 1) == [1.75, 2, 2.25]
    by, plus = page.get_by_role("textbox", name="Constant in line").all()
    by.fill("2, oops")
    by.press("Enter")
    expect(page.locator(".plan-program .said")).to_contain_text("“2, oops” is no constant")
    assert texels(page, "x", 3, 1) == [1.75, 2, 2.25]
    by.fill("{2, 2, 2, 2}")
    by.press("Enter")
    assert texels(page, "x", 3, 1) == [7, 11, 15]
    plus.fill("-3")
    plus.press("Enter")
    assert texels(page, "x", 3, 1) == [-5, -1, 3]
    assert "since a constant" in page.locator(".plan > .note").inner_text()
    assert "{-3, -3, -3, -3}" in page.locator(".plan-trace").inner_text()


def test_a_loop_with_a_condition_has_the_passes_that_it_took(open_page: Opener) -> None:
    p = find("conjugate-gradient", n=4)
    page = open_page.html(plan_page(p))
    to_the_end(page)
    passes = settled(p.plan(), [p.run(executor="numpy").iterations]).pass_count
    assert page.locator(".transport-said").inner_text() == f"{passes} of {passes}"
    assert f"{passes} passes over" in page.locator("header").inner_text()


def test_the_largest_page_is_below_3_mb() -> None:
    page = plan_page(find("reduction", n=isqrt(MOST_NUMBERS)))
    assert 2_500_000 < len(page.encode()) < 3_000_000


def test_what_no_page_plays_is_refused() -> None:
    kernels = find("mali-sgemm", n=8)
    with pytest.raises(InputError, match="dispatches kernels, which browsers do not run"):
        plan_page(kernels, {"A": np.eye(8), "B": np.eye(8)})
    large = find("jacobi", n=2048, passes=1)
    with pytest.raises(InputError, match=r"at most .*; make it smaller"):
        plan_page(large, {"b": np.zeros((2048, 2048))})
    with pytest.raises(InputError, match="has no input numbers; its inputs are values"):
        plan_page(sort(), {"numbers": np.zeros(N)})


# The other algorithms ---------------------------------------------------------------------------


def names() -> list[str]:
    return [algorithm["name"] for algorithm in section_of("algorithms").data["algorithms"]]


def test_every_algorithm_plays_to_its_end(open_page: Opener, renderer: str) -> None:
    page = open_page("algorithms", View(calm=True))
    select = page.get_by_role("combobox", name="Algorithm", exact=True)
    for name in names():
        select.select_option(name)
        page.wait_for_function(f"location.hash.startsWith('#algorithms.name={name}')")
        to_the_end(page)
        note = page.locator(".plan > .note").text_content() or ""
        # GPUs may take what is below 2⁻¹²⁶ for 0; thin smoke has sums of such numbers.
        off = re.search(r"differ .* by (\S+) at most", note.replace("−", "-"))
        # Sines are the GPU's: two bits of 16; of SwiftShader only those 2⁻¹¹ that Vulkan promises,
        # in each of its stages.
        of_sines = 2**-18 if renderer == "llvmpipe" else 2**-8
        most = of_sines if name == "fft" else 2**-120
        if name == "mandelbrot":  # where points leave the set, what a GPU contracts grows: few do
            few, shown = map(int, re.findall(r"(\d+) of the (\d+)", note)[0])
            assert few < 0.05 * shown
            continue
        assert "bit for bit" in note if off is None else float(off[1]) < most, (name, note)
    assert {"life", "jacobi", "reduction", "bitonic-sort", "packed-2x2", "fft"} <= {*names()}
    kernels = page.locator("#algorithms .algorithms-still > .note").text_content() or ""
    assert "Mali SGEMM" in kernels and "Life" not in kernels


def test_a_page_of_brook_begins_with_the_lines_of_its_kernels(open_page: Opener) -> None:
    """The lookups of the drum's kernel: two of its streams, and four of their neighbours."""
    kernel = load_kernel("examples/drum.br", "vibrate")
    p = Pipeline("drum")
    before, now = p.input("before", 8, 8), p.input("now", 8, 8)
    p.call(kernel, now, now, before, following := p.texture("next", 8, 8))
    p.output("skin", following)
    page = open_page.html(plan_page(p))
    rows = [row.split("\t") for row in page.locator("#source tr").all_inner_texts()]
    assert {text.split(":")[1]: lookups for _, lookups, text in rows[1:]} == {
        "6": "2", "8": "2", "9": "2", "10": "0", "11": "0",
    }  # fmt: skip
