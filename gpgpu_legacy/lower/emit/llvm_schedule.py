"""A native loop over the passes of a Repeat, which several threads run together, as LLVM IR.

The Repeat's passes are grouped into stages, and the rows of each stage into items. All threads take
items in their order, one at a time. An item adds 1 to a counter when it ends. Its list of counters
must have come so far before it begins; the thread that takes it waits for them. No thread is
special: one alone can run all items, and others may join at any time.

A stage of several passes (temporal tiling) has the shape that its items give it: pass t of a stage
works on the rows from low + t·low_step up to, but without, high + t·high_step. An item goes through
its columns in blocks of `span` from the left, and through the rows of a block in chunks from below.
Each pass follows the one before it at a distance of `lag` rows and `slant` columns, so that the
texels in between stay in a cache. Rows from `height` on wrap around to the other side.

Like the code of passes (llvm_fused.py), the loop is handed 64-bit words: HEADER_WORDS, then
MEMBER_WORDS for each pass of the Repeat's body, by thread. An item has ITEM_WORDS.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import ir

from gpgpu_legacy.lower.emit.llvm_values import I32, I64, CountedLoop, greater, integer, lesser
from gpgpu_legacy.lower.emit.llvm_words import (
    FIRST,
    LAST,
    X_FIRST,
    X_LAST,
    Y_FIRST,
    Y_LAST,
    Words,
)

# Of the header. NEXT has a cache line of its own: the number of the item that is taken next, over
# all rounds. LIMIT: the number of the item to stop at. A round has ITEMS items and KINDS stages.
# DEPTH: passes of a stage; PASSES: of the Repeat; MEMBERS: of its body. WIDTH, HEIGHT: of the
# largest rectangle. Then come addresses: of items, of counters, of a system call that lets other
# threads run.
NEXT = 0
LIMIT, ITEMS, KINDS, DEPTH, PASSES, MEMBERS = range(8, 14)
LAG, CHUNK, HEIGHT, SLANT, SPAN, WIDTH = range(14, 20)
ITEMS_AT, ENDED_AT, PAUSE_AT, HEADER_WORDS = range(20, 24)

# Of an item: its rows, its stage in a round, its counter; then which counters it waits for: AWAITED
# of them, the first of which is FROM in the ring of RING counters that begins with START. They must
# have come to BASE in the first round, and to EACH more in every other.
LOW, LOW_STEP, HIGH, HIGH_STEP, STAGE, COUNTER, START, RING, FROM, AWAITED, BASE, EACH = range(12)
ITEM_WORDS = 12

# Of a pass: the addresses of its code and of the words that it is handed, its rectangle's width,
# how many iterations it runs at a time.
CODE, WORDS, COLUMNS, TOGETHER, MEMBER_WORDS = range(5)

ENDED_WORDS = 8
"""The distance between two counters: a cache line."""

_SPINS = 4096  # checks before a thread lets others run


@cache
def schedule_text() -> str:
    """The module: `work`, of the addresses of the header and of a thread's words of the passes."""
    module = ir.Module("schedule")
    _wait_function(module)
    _rows_function(module)
    _item_function(module)
    _work_function(module)
    return str(module)


def _function(module: ir.Module, name: str, arguments: int) -> tuple[Any, ir.IRBuilder]:
    kind = ir.FunctionType(ir.VoidType(), [I64.as_pointer()] * 2 + [I64] * (arguments - 2))
    function = ir.Function(module, kind, name)
    return function, ir.IRBuilder(function.append_basic_block())


def _wait_function(module: ir.Module) -> None:
    """Wait until a counter, the first argument, has come so far."""
    function, b = _function(module, "wait", 3)
    count, header, wanted = function.args
    look, spin, pause, done = (function.append_basic_block() for _ in range(4))
    start = b.block
    b.branch(look)
    b.position_at_end(look)
    spins = b.phi(I32)
    ended = b.load_atomic(count, ordering="acquire", align=8)
    b.cbranch(b.icmp_signed(">=", ended, wanted), done, spin)
    b.position_at_end(spin)
    spins.add_incoming(ir.Constant(I32, 0), start)
    more = b.add(spins, ir.Constant(I32, 1))
    spins.add_incoming(more, spin)
    b.cbranch(b.icmp_signed("<", more, ir.Constant(I32, _SPINS)), look, pause)
    b.position_at_end(pause)
    kind = ir.FunctionType(I32, [])
    b.call(Words(b, header).address(PAUSE_AT, kind), [])
    spins.add_incoming(more, pause)
    b.branch(look)
    b.position_at_end(done)
    b.ret_void()


def _rows_function(module: ir.Module) -> None:
    """Run a pass, the second argument its words, on some columns and rows.

    The last argument is how often it has run.
    """
    function, b = _function(module, "rows", 7)
    header, member, left, right, first, last, runs = function.args
    height = Words(b, header).integer(HEIGHT)
    words = Words(b, Words(b, member).address(WORDS))
    code = Words(b, member).address(CODE, ir.FunctionType(ir.VoidType(), [I64.as_pointer()]))
    b.store(left, words.place(X_FIRST))
    b.store(right, words.place(X_LAST))
    together = Words(b, member).integer(TOGETHER)
    iteration = b.mul(runs, together)
    b.store(iteration, words.place(FIRST))
    b.store(b.add(iteration, together), words.place(LAST))
    here = (first, lesser(b, last, height))
    beyond = (b.sub(greater(b, first, height), height), b.sub(last, height))
    for low, high in (here, beyond):
        with b.if_then(b.icmp_signed("<", low, high)):
            b.store(low, words.place(Y_FIRST))
            b.store(high, words.place(Y_LAST))
            b.call(code, [words.array])
    b.ret_void()


def _item_function(module: ir.Module) -> None:
    """Run an item of a stage; the arguments after the words are the item and the stage."""
    function, b = _function(module, "item", 4)
    header, members = (Words(b, array) for array in function.args[:2])
    address, stage = function.args[2:]
    item = Words(b, b.inttoptr(address, I64.as_pointer()))
    low, low_step, high, high_step = map(item.integer, (LOW, LOW_STEP, HIGH, HIGH_STEP))
    lag, chunk, slant, span = map(header.integer, (LAG, CHUNK, SLANT, SPAN))
    depth, bodies, width = map(header.integer, (DEPTH, MEMBERS, WIDTH))
    first_pass = b.mul(stage, depth)
    passes = lesser(b, depth, b.sub(header.integer(PASSES), first_pass))
    last_pass = b.sub(passes, integer(1))
    top = b.add(high, b.mul(last_pass, b.add(high_step, lag)))
    side = b.add(width, b.mul(last_pass, slant))
    with (
        CountedLoop(b, integer(0), side, span) as column,
        CountedLoop(b, low, top, chunk) as row,
        CountedLoop(b, integer(0), passes) as number,
    ):
        pass_ = b.add(first_pass, number)
        member = members.place(b.mul(b.srem(pass_, bodies), integer(MEMBER_WORDS)))
        before, below = b.sub(column, b.mul(number, slant)), b.sub(row, b.mul(number, lag))
        left = greater(b, before, integer(0))
        right = lesser(b, b.add(before, span), Words(b, member).integer(COLUMNS))
        first = greater(b, below, b.add(low, b.mul(number, low_step)))
        last = lesser(b, b.add(below, chunk), b.add(high, b.mul(number, high_step)))
        some = b.and_(b.icmp_signed("<", left, right), b.icmp_signed("<", first, last))
        with b.if_then(some):
            iteration = b.sdiv(pass_, bodies)
            b.call(
                module.get_global("rows"),
                [header.array, member, left, right, first, last, iteration],
            )
    b.ret_void()


def _work_function(module: ir.Module) -> None:
    """Take items until there are none left."""
    function, b = _function(module, "work", 2)
    header = Words(b, function.args[0])
    items, kinds, limit = map(header.integer, (ITEMS, KINDS, LIMIT))
    items_at, ended_at = (Words(b, header.address(word)) for word in (ITEMS_AT, ENDED_AT))
    take, run, done = (function.append_basic_block() for _ in range(3))
    b.branch(take)
    b.position_at_end(take)
    taken = b.atomic_rmw("add", header.place(NEXT), integer(1), "monotonic")
    b.cbranch(b.icmp_signed("<", taken, limit), run, done)
    b.position_at_end(run)
    round_, number = b.sdiv(taken, items), b.srem(taken, items)
    item = Words(b, items_at.place(b.mul(number, integer(ITEM_WORDS))))
    start, ring, first, awaited = map(item.integer, (START, RING, FROM, AWAITED))
    wanted = b.add(b.mul(round_, item.integer(EACH)), item.integer(BASE))
    with CountedLoop(b, integer(0), awaited) as other:
        place = b.add(start, b.srem(b.add(first, other), ring))
        count = ended_at.place(b.mul(place, integer(ENDED_WORDS)))
        b.call(module.get_global("wait"), [count, header.array, wanted])
    stage = b.add(b.mul(round_, kinds), item.integer(STAGE))
    b.call(module.get_global("item"), [*function.args, b.ptrtoint(item.array, I64), stage])
    ended = ended_at.place(b.mul(item.integer(COUNTER), integer(ENDED_WORDS)))
    b.atomic_rmw("add", ended, integer(1), "release")
    b.branch(take)
    b.position_at_end(done)
    b.ret_void()
