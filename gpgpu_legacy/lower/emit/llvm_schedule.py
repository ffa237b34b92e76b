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

Threads that help meet at a door: `serve` waits there for a while for jobs, each a schedule, and
`lead` opens it for one, takes part, and returns when all who came in are out again.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import ir

from gpgpu_legacy.lower.emit.llvm_basics import (
    COUNT,
    FIRST,
    I32,
    I64,
    LAST,
    X_FIRST,
    X_LAST,
    Y_FIRST,
    Y_LAST,
    CountedLoop,
    Words,
    greater,
    integer,
    lesser,
)
from gpgpu_legacy.lower.emit.llvm_basics import HEADER_WORDS as PASS_WORDS

# Of the header. NEXT has a cache line of its own: the number of the item that is taken next, over
# all rounds. LIMIT: the number of the item to stop at. A round has ITEMS items and KINDS stages.
# DEPTH: passes of a stage; PASSES: of the Repeat; MEMBERS: of its body. HEIGHT: of the rectangle.
# Then come addresses: of items, of counters, of a system call that lets other threads run.
NEXT = 0
LIMIT, ITEMS, KINDS, DEPTH, PASSES, MEMBERS = range(8, 14)
LAG, CHUNK, HEIGHT, SLANT, SPAN = range(14, 19)
ITEMS_AT, ENDED_AT, PAUSE_AT, HEADER_WORDS = range(19, 23)

# Of an item: its rows and columns, its stage in a round, its counter; then which counters it waits
# for: AWAITED of them, the first of which is FROM in the ring of RING counters that begins with
# START. They must have come to BASE in the first round, and to EACH more in every other.
LOW, LOW_STEP, HIGH, HIGH_STEP, LEFT, RIGHT, STAGE, COUNTER = range(8)
START, RING, FROM, AWAITED, BASE, EACH, ITEM_WORDS = range(8, 15)

# Of a pass: the addresses of its code and of the words that it is handed, how many iterations it
# runs at a time.
CODE, WORDS, TOGETHER, MEMBER_WORDS = range(4)

# Of the door. STATE counts up whenever it opens or closes, and is odd while it is open. INSIDE is 0
# less those who are inside, TICKETS how many have come to the job. Then the job: its header, the
# words of its first thread's passes and the bytes to the next one's, how many threads may help.
# Each of the first three has a cache line of its own.
STATE, INSIDE, TICKETS = 0, 8, 16
JOB, FIRST_MEMBERS, STRIDE, HELPERS, DOOR_PAUSE_AT, DOOR_WORDS = range(24, 30)

# Of a copy of rows, which is handed words like the code of passes: the addresses of a matrix and of
# a plane, of both the bytes from row to row and from number to number, the numbers of a row; 1 if
# it goes to the matrix.
MATRIX, PLANE, MATRIX_ROW, PLANE_ROW, MATRIX_NEXT, PLANE_NEXT, LENGTH, UNPACKS, COPY_WORDS = range(
    PASS_WORDS, PASS_WORDS + 9
)

ENDED_WORDS = 8
"""The distance between two counters: a cache line."""

_SPINS = 4096  # checks before a thread lets others run
_PATIENCE = 4096  # how often a thread at the door lets others run before it leaves: about 2 ms
_LOOKS = 64  # at the door in between


@cache
def schedule_text() -> str:
    """The module: `lead` and `serve`, of the address of a door; `copy`, of words."""
    module = ir.Module("schedule")
    _wait_function(module)
    _rows_function(module)
    _item_function(module)
    _work_function(module)
    _lead_function(module)
    _serve_function(module)
    _copy_function(module)
    return str(module)


_BIT, _BYTE = ir.IntType(1), ir.IntType(8)
_FLOAT_BYTES = 4
_CALL = ir.FunctionType(I32, [])  # that lets other threads run


def _copy_function(module: ir.Module) -> None:
    function, b = _function(module, "copy", 1)
    words = Words(b, function.args[0])
    unpacks = b.trunc(words.integer(UNPACKS), _BIT)

    def to_and_from(in_matrix: Any, in_plane: Any) -> tuple[Any, Any]:
        return b.select(unpacks, in_matrix, in_plane), b.select(unpacks, in_plane, in_matrix)

    ends = to_and_from(words.address(MATRIX, _BYTE), words.address(PLANE, _BYTE))
    rows = to_and_from(words.integer(MATRIX_ROW), words.integer(PLANE_ROW))
    nexts = to_and_from(words.integer(MATRIX_NEXT), words.integer(PLANE_NEXT))
    length, size = words.integer(LENGTH), integer(_FLOAT_BYTES)
    are_rows = b.and_(*(b.icmp_signed("==", step, size) for step in nexts))
    move = module.declare_intrinsic("llvm.memcpy", [_BYTE.as_pointer()] * 2 + [I64])
    with CountedLoop(b, words.integer(Y_FIRST), words.integer(Y_LAST)) as y:
        row = [b.gep(end, [b.mul(y, step)]) for end, step in zip(ends, rows, strict=True)]
        with b.if_else(are_rows) as (whole, apart):
            with whole:
                b.call(move, [*row, b.mul(length, size), _BIT(0)])
            with apart, CountedLoop(b, integer(0), length) as x:
                to, from_ = (
                    b.bitcast(b.gep(at, [b.mul(x, step)]), I32.as_pointer())
                    for at, step in zip(row, nexts, strict=True)
                )
                b.store(b.load(from_), to)
    b.ret_void()


def _function(module: ir.Module, name: str, arguments: int) -> tuple[Any, ir.IRBuilder]:
    """A function whose first two arguments are addresses."""
    kind = ir.FunctionType(ir.VoidType(), ([I64.as_pointer()] * 2 + [I64] * arguments)[:arguments])
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
    b.call(Words(b, header).address(PAUSE_AT, _CALL), [])
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
    end = lesser(b, b.add(iteration, together), words.integer(COUNT))
    b.store(end, words.place(LAST))
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
    left_end, right_end = item.integer(LEFT), item.integer(RIGHT)
    depth, bodies = map(header.integer, (DEPTH, MEMBERS))
    first_pass = b.mul(stage, depth)
    passes = lesser(b, depth, b.sub(header.integer(PASSES), first_pass))
    last_pass = b.sub(passes, integer(1))
    top = b.add(high, b.mul(last_pass, b.add(high_step, lag)))
    side = b.add(right_end, b.mul(last_pass, slant))
    with (
        CountedLoop(b, left_end, side, span) as column,
        CountedLoop(b, low, top, chunk) as row,
        CountedLoop(b, integer(0), passes) as number,
    ):
        pass_ = b.add(first_pass, number)
        member = members.place(b.mul(b.srem(pass_, bodies), integer(MEMBER_WORDS)))
        before, below = b.sub(column, b.mul(number, slant)), b.sub(row, b.mul(number, lag))
        left = greater(b, before, left_end)
        right = lesser(b, b.add(before, span), right_end)
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
    """Take items until there are none left; of a header, and a thread's words of the passes."""
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


def _lead_function(module: ir.Module) -> None:
    function, b = _function(module, "lead", 1)
    door = Words(b, function.args[0])
    state, header = door.place(STATE), door.address(JOB)
    b.store(integer(0), door.place(TICKETS))
    b.atomic_rmw("add", state, integer(1), "seq_cst")
    b.call(module.get_global("work"), [header, door.address(FIRST_MEMBERS)])
    b.atomic_rmw("add", state, integer(1), "seq_cst")
    b.call(module.get_global("wait"), [door.place(INSIDE), header, integer(0)])
    b.ret_void()


def _serve_function(module: ir.Module) -> None:
    function, b = _function(module, "serve", 1)
    door = Words(b, function.args[0])
    start, look, in_, idle, pause, done = (b.block, *(b.append_basic_block() for _ in range(5)))
    b.branch(look)
    b.position_at_end(look)
    seen, looks = b.phi(I64), b.phi(I64)
    state = b.load_atomic(door.place(STATE), ordering="acquire", align=8)
    is_open = b.trunc(state, _BIT)
    b.cbranch(b.and_(is_open, b.icmp_signed("!=", state, seen)), in_, idle)
    b.position_at_end(in_)
    b.atomic_rmw("sub", door.place(INSIDE), integer(1), "seq_cst")
    again = b.load_atomic(door.place(STATE), ordering="seq_cst", align=8)
    with b.if_then(b.icmp_signed("==", again, state)):
        ticket = b.atomic_rmw("add", door.place(TICKETS), integer(1), "monotonic")
        with b.if_then(b.icmp_signed("<", ticket, door.integer(HELPERS))):
            further = b.mul(b.add(ticket, integer(1)), door.integer(STRIDE))
            members = b.inttoptr(b.add(door.integer(FIRST_MEMBERS), further), I64.as_pointer())
            b.call(module.get_global("work"), [door.address(JOB), members])
    b.atomic_rmw("add", door.place(INSIDE), integer(1), "seq_cst")
    was_in = b.block
    b.branch(look)
    b.position_at_end(idle)
    more = b.add(looks, integer(1))
    b.cbranch(b.icmp_signed("==", b.srem(more, integer(_LOOKS)), integer(0)), pause, look)
    b.position_at_end(pause)
    b.call(door.address(DOOR_PAUSE_AT, _CALL), [])
    b.cbranch(b.icmp_signed("<", more, integer(_LOOKS * _PATIENCE)), look, done)
    for phi, values in ((seen, (integer(0), state, seen, seen)),
                        (looks, (integer(0), integer(0), more, more))):  # fmt: skip
        for value, block in zip(values, (start, was_in, idle, pause), strict=True):
            phi.add_incoming(value, block)
    b.position_at_end(done)
    b.ret_void()
