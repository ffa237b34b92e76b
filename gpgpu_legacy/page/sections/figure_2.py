"""Figure 2: the drawings of the passes of 2001 and 2003, as a picture and animated."""

from __future__ import annotations

from gpgpu_legacy.page.products import PRODUCT_SCRIPTS
from gpgpu_legacy.page.section import PageSection, data_url, rendered
from gpgpu_legacy.present.pictures import png_of
from gpgpu_legacy.runtime.executor import reference
from gpgpu_legacy.studies.figure_2 import METHOD, demonstrate


def make_section() -> PageSection:
    """Figure 2: a picture of a run, and the run itself, pass by pass."""
    executor = reference()
    (state,) = METHOD.plan(n=1, state="texture-environment").programs()
    image = demonstrate(executor).picture()
    html = rendered(
        "sections/figure-2.html.j2",
        picture=data_url(png_of(image), "image/png"),
        size=image.size,
        state=state.stages.values(),
        device=executor.device(),
    )
    scripts = (*PRODUCT_SCRIPTS, "sections/product-words.js", "sections/figure-2.js")
    return PageSection("figure-2", "Figure 2, alive", html, {}, scripts)
