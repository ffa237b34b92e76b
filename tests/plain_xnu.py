"""XNU's lists of free frames in plain Python."""

from __future__ import annotations


class PlainXnu:
    """vm_page_grab in plain Python: lists of free frames by colour, and a processor's own list."""

    def __init__(self, frames: int, colours: int) -> None:
        self.free = [list(range(colour, frames, colours)) for colour in range(colours)]
        self.own: list[int] = []
        self.next = 0

    def grab(self) -> int:
        if not self.own:
            for _ in range(4 * len(self.free)):
                while not self.free[self.next]:
                    self.next = (self.next + 1) % len(self.free)
                self.own.append(self.free[self.next].pop(0))
                self.next = (self.next + 1) % len(self.free)
        return self.own.pop(0)

    def touch(self, used: int, first: int) -> tuple[list[int], list[int]]:
        """The frames of pages touched in order, and those of their page tables."""
        pages, tables = [], []
        described: set[int] = set()
        for page in range(first, first + used):
            pages.append(self.grab())
            if page // 512 not in described:
                described.add(page // 512)
                tables.append(self.grab())
        return pages, tables
