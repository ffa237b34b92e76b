"""Figure 2: the drawings of the passes of 2001 and 2003, as a picture and animated."""

from __future__ import annotations

from gpgpu_legacy.page.products import LESSON_SCRIPTS
from gpgpu_legacy.page.section import PageSection, data_url, rendered
from gpgpu_legacy.present.pictures import png_of
from gpgpu_legacy.runtime.executor import reference
from gpgpu_legacy.studies.figure_2 import demonstrate


def make_section() -> PageSection:
    """Figure 2: a picture of a run, and the run itself, pass by pass."""
    executor = reference()
    image = demonstrate(executor).picture().quantize(64)
    html = rendered(
        "lesson/figure-2.html.j2",
        picture=data_url(png_of(image), "image/png"),
        size=image.size,
        device=executor.device(),
    )
    scripts = (*LESSON_SCRIPTS, "sections/product-words.js", "lesson/figure-2.js")
    title = "Four rectangles multiply two matrices"
    return PageSection("figure-2", title, html, {}, scripts, short="Figure 2")
