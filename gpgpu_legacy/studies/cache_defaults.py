"""The default contents of the table."""

from __future__ import annotations

BEFORE = "larson-mcallister"
BLOCKED = ("hall-carr-hart-single", "hall-carr-hart-multi")

SIZE = 1024  # the example of the paper's Section 5.3
BLOCKS = (1, 2, 4, 8, 16, 32, 64, 128)
CACHES = ("2K,4way,64B", "8K,4way,64B", "8K,fully,64B", "16K,4way,64B", "32K,2way,128B")
"""The texture caches of the time are unpublished. Hakura & Gupta 1997 find working sets of up to
16 KB and study 32 KB, 2-way, lines of 128 bytes. The fully associative cache of 8 KB separates
misses for want of capacity from misses for want of ways."""
RASTERS = ("scan", "tiled:8x8", "tiled:32x32")
LAYOUTS = ("linear", "8x8")
IN_FLIGHT = (1, 16, 64, 256)
"""The numbers in flight: those of the time's chips are unpublished, but were more than one."""
