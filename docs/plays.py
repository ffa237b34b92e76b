"""Write the pages that play algorithms: `python docs/plays.py FOLDER`, which `make site` calls."""

from __future__ import annotations

import sys
from pathlib import Path

from gpgpu_legacy.algorithms.registry import products, shipped_algorithms
from gpgpu_legacy.files import write_text
from gpgpu_legacy.page.one_plan import plan_page

for algorithm in shipped_algorithms():
    if algorithm not in products():
        given = dict(word.split("=") for word in algorithm.plays.split())
        page = plan_page(algorithm.builder(**given))
        write_text(Path(sys.argv[1], f"{algorithm.name}.html"), page)
