"""A native loop over the passes of a Repeat, which several threads run together, as LLVM IR.

The Repeat's passes are grouped into stages, and the rows of each stage into items. All threads take
items in their order, one at a time. An item adds 1 to a counter when it ends. Before it begins, the
counters on its list must have reached a given number; the thread that takes it waits for them. No
thread is special: one alone can run all items, and others may join at any time.

In a stage of several passes (temporal tiling), an item gives the rows of each pass: pass t of the
stage works on the rows from low + t·low_step to below high + t·high_step. An item goes through its
columns in blocks of `span` from the left, and through the rows of a block in chunks from below.
Each pass follows the one before it at a distance of `lag` rows and `slant` columns, so that the
texels in between stay in a cache. Rows from `height` on wrap around to the other side.

Like the code of passes (llvm_fused.py), the loop takes 64-bit words: HEADER_WORDS, then
MEMBER_WORDS for each pass of the Repeat's body, by thread. An item has ITEM_WORDS.

Threads that help meet at a door. `serve` waits there for a while for jobs, each a schedule. `lead`
opens the door for a job, takes part, and returns when all who came in have left.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import ir

from gpgpu_legacy.lower.emit.llvm_basics import (
    COUNT,
    FIRST,
    I1,
    I8,
    I32,
    I64,
    LAST,
    X_FIRST,
    X_LAST,
    Y_FIRST,
    Y_LAST,
    Emitted,
    call,
    counted,
    loop,
)
from gpgpu_legacy.lower.emit.llvm_basics import HEADER_WORDS as PASS_WORDS

# The header. NEXT is the number of the item that is taken next, over all rounds; it has a cache
# line of its own. LIMIT: the number of the item to stop at. A round has ITEMS items and KINDS
# stages. DEPTH, PASSES, MEMBERS: the passes of a stage, of the Repeat and of its body. HEIGHT: the
# rectangle's. The addresses are those of items, of counters, and of a system call that lets other
# threads run.
NEXT = 0
LIMIT, ITEMS, KINDS, DEPTH, PASSES, MEMBERS = range(8, 14)
LAG, CHUNK, HEIGHT, SLANT, SPAN = range(14, 19)
ITEMS_AT, ENDED_AT, PAUSE_AT, HEADER_WORDS = range(19, 23)

# An item: its rows and columns, its stage in a round, its counter; then the counters that it waits
# for. These are AWAITED counters from number FROM on, in the ring of RING counters that begins with
# START. They must have reached BASE in the first round, and EACH more in every further round.
LOW, LOW_STEP, HIGH, HIGH_STEP, LEFT, RIGHT, STAGE, COUNTER = range(8)
START, RING, FROM, AWAITED, BASE, EACH, ITEM_WORDS = range(8, 15)

# A pass: the addresses of its code and of its words, and how many iterations it runs at a time.
CODE, WORDS, TOGETHER, MEMBER_WORDS = range(4)

# The door. STATE counts up whenever the door opens or closes, and is odd while it is open. INSIDE
# is minus the number of threads inside, TICKETS the number that have come to the job. Each of the
# three has a cache line of its own. Then the job: its header, the words of its first thread's
# passes and the bytes to the next thread's, and how many threads may help.
STATE, INSIDE, TICKETS = 0, 8, 16
JOB, FIRST_MEMBERS, STRIDE, HELPERS, DOOR_PAUSE_AT, DOOR_WORDS = range(24, 30)

# A copy of rows, which takes words like the code of passes: the addresses of a matrix and of a
# plane; for both, the bytes from row to row and from number to number; the numbers of a row; 1 to
# copy to the matrix.
MATRIX, PLANE, MATRIX_ROW, PLANE_ROW, MATRIX_NEXT, PLANE_NEXT, LENGTH, UNPACKS, COPY_WORDS = range(
    PASS_WORDS, PASS_WORDS + 9
)

ENDED_WORDS = 8
"""The distance between two counters: a cache line."""

_SPINS = 4096  # checks before a thread lets others run
_PATIENCE = 4096  # how often a thread at the door lets others run before it leaves: about 2 ms
_LOOKS = 64  # at the door, before a thread lets others run


@cache
def schedule_text() -> str:
    """The module: `lead` and `serve` take the address of a door, `copy` takes words."""
    module = ir.Module("schedule")
    _wait_function(module)
    _rows_function(module)
    _item_function(module)
    _work_function(module)
    _lead_function(module)
    _serve_function(module)
    _copy_function(module)
    return str(module)


_FLOAT_BYTES = 4
_CALL = ir.FunctionType(I32, [])  # that lets other threads run


def _copy_function(module: ir.Module) -> None:
    b, words = _function(module, "copy", 1)
    unpacks = words[UNPACKS].trunc(I1)

    def to_and_from(in_matrix: Emitted, in_plane: Emitted) -> tuple[Emitted, Emitted]:
        return unpacks.choose(in_matrix, in_plane), unpacks.choose(in_plane, in_matrix)

    ends = to_and_from(words[MATRIX].pointer(I8), words[PLANE].pointer(I8))
    rows = to_and_from(words[MATRIX_ROW], words[PLANE_ROW])
    nexts = to_and_from(words[MATRIX_NEXT], words[PLANE_NEXT])
    length, are_rows = words[LENGTH], (nexts[0] == _FLOAT_BYTES) & (nexts[1] == _FLOAT_BYTES)
    move = module.declare_intrinsic("llvm.memcpy", [I8.as_pointer()] * 2 + [I64])
    with counted(b, words[Y_FIRST], words[Y_LAST]) as y:
        row = [end.at(y * step) for end, step in zip(ends, rows, strict=True)]
        with b.if_else(are_rows.value) as (whole, apart):
            with whole:
                call(b, move, *row, length * _FLOAT_BYTES, I1(0))
            with apart, counted(b, 0, length) as x:
                to, from_ = (
                    at.at(x * step).bitcast(I32.as_pointer())
                    for at, step in zip(row, nexts, strict=True)
                )
                from_.load().store(to)
    b.ret_void()


def _function(module: ir.Module, name: str, arguments: int) -> tuple[Any, ...]:
    """The builder of a function, and its arguments, of which the first two are addresses."""
    kind = ir.FunctionType(ir.VoidType(), ([I64.as_pointer()] * 2 + [I64] * arguments)[:arguments])
    function = ir.Function(module, kind, name)
    b = ir.IRBuilder(function.append_basic_block())
    return b, *(Emitted(b, argument) for argument in function.args)


def _wait_function(module: ir.Module) -> None:
    """Wait until a counter, the first argument, has reached the last argument."""
    b, count, header, wanted = _function(module, "wait", 3)
    spins = _zero(b)
    with loop(b) as goes_on:
        goes_on(count.load_atomic(ordering="acquire", align=8) < wanted)
        with b.if_then((_counted_up(spins) >= _SPINS).value):
            call(b, header[PAUSE_AT].pointer(_CALL))
    b.ret_void()


def _rows_function(module: ir.Module) -> None:
    """Run a pass on some columns and rows.

    The second argument is the pass's words, the last how often it has run.
    """
    b, header, member, left, right, first, last, runs = _function(module, "rows", 7)
    height = header[HEIGHT]
    words = member[WORDS].pointer()
    code = member[CODE].pointer(ir.FunctionType(ir.VoidType(), [I64.as_pointer()]))
    left.store(words.at(X_FIRST))
    right.store(words.at(X_LAST))
    together = member[TOGETHER]
    iteration = runs * together
    iteration.store(words.at(FIRST))
    (iteration + together).at_most(words[COUNT]).store(words.at(LAST))
    here = first, last.at_most(height)
    beyond = first.at_least(height) - height, last - height
    for low, high in (here, beyond):
        with b.if_then((low < high).value):
            low.store(words.at(Y_FIRST))
            high.store(words.at(Y_LAST))
            call(b, code, words)
    b.ret_void()


def _item_function(module: ir.Module) -> None:
    """Run an item of a stage; the arguments after the words are the item and the stage."""
    b, header, members, address, stage = _function(module, "item", 4)
    item = address.pointer()
    low, low_step, high, high_step = (item[word] for word in (LOW, LOW_STEP, HIGH, HIGH_STEP))
    lag, chunk, slant, span = (header[word] for word in (LAG, CHUNK, SLANT, SPAN))
    left_end, right_end = item[LEFT], item[RIGHT]
    depth, bodies = header[DEPTH], header[MEMBERS]
    first_pass = stage * depth
    passes = depth.at_most(header[PASSES] - first_pass)
    last_pass = passes - 1
    top = high + last_pass * (high_step + lag)
    side = right_end + last_pass * slant
    with (
        counted(b, left_end, side, span) as column,
        counted(b, low, top, chunk) as row,
        counted(b, 0, passes) as number,
    ):
        pass_ = first_pass + number
        member = members.at(pass_ % bodies * MEMBER_WORDS)
        before, below = column - number * slant, row - number * lag
        left, right = before.at_least(left_end), (before + span).at_most(right_end)
        first = below.at_least(low + number * low_step)
        last = (below + chunk).at_most(high + number * high_step)
        with b.if_then(((left < right) & (first < last)).value):
            iteration = pass_ // bodies
            rows = module.get_global("rows")
            call(b, rows, header, member, left, right, first, last, iteration)
    b.ret_void()


def _work_function(module: ir.Module) -> None:
    """Take items until none are left. Its arguments are a header and a thread's words of passes."""
    b, header, members = _function(module, "work", 2)
    items, kinds, limit = header[ITEMS], header[KINDS], header[LIMIT]
    items_at, ended_at = header[ITEMS_AT].pointer(), header[ENDED_AT].pointer()
    with loop(b) as goes_on:
        taken = _added(header.at(NEXT), 1, "monotonic")
        goes_on(taken < limit)
        round_, number = taken // items, taken % items
        item = items_at.at(number * ITEM_WORDS)
        start, ring, first, awaited = (item[word] for word in (START, RING, FROM, AWAITED))
        wanted = round_ * item[EACH] + item[BASE]
        with counted(b, 0, awaited) as other:
            place = start + (first + other) % ring
            count = ended_at.at(place * ENDED_WORDS)
            call(b, module.get_global("wait"), count, header, wanted)
        stage = round_ * kinds + item[STAGE]
        call(b, module.get_global("item"), header, members, item.ptrtoint(I64), stage)
        _added(ended_at.at(item[COUNTER] * ENDED_WORDS), 1, "release")
    b.ret_void()


def _added(place: Emitted, number: int, ordering: str = "seq_cst") -> Emitted:
    """Add a number to a word atomically, and return what was there before."""
    b = place.builder
    return Emitted(b, b.atomic_rmw("add", place.value, I64(number), ordering))


def _zero(b: ir.IRBuilder) -> Emitted:
    """The address of a new variable, which is 0."""
    place = Emitted(b, b.alloca(I64))
    b.store(I64(0), place.value)
    return place


def _counted_up(place: Emitted) -> Emitted:
    """Add 1 to a variable, and return what is there now."""
    more = place.load() + 1
    more.store(place)
    return more


def _lead_function(module: ir.Module) -> None:
    b, door = _function(module, "lead", 1)
    state, header = door.at(STATE), door[JOB].pointer()
    b.store(I64(0), door.at(TICKETS).value)
    _added(state, 1)
    call(b, module.get_global("work"), header, door[FIRST_MEMBERS].pointer())
    _added(state, 1)
    call(b, module.get_global("wait"), door.at(INSIDE), header, I64(0))
    b.ret_void()


def _serve_function(module: ir.Module) -> None:
    b, door = _function(module, "serve", 1)
    seen, looks = _zero(b), _zero(b)
    with loop(b) as goes_on:
        goes_on(looks.load() < _LOOKS * _PATIENCE)
        state = door.at(STATE).load_atomic(ordering="acquire", align=8)
        is_new = state.trunc(I1) & (state != seen.load())
        with b.if_else(is_new.value) as (inside, outside):
            with inside:
                state.store(seen)
                b.store(I64(0), looks.value)
                _added(door.at(INSIDE), -1)
                again = door.at(STATE).load_atomic(ordering="seq_cst", align=8)
                with b.if_then((again == state).value):
                    ticket = _added(door.at(TICKETS), 1, "monotonic")
                    with b.if_then((ticket < door[HELPERS]).value):
                        further = (ticket + 1) * door[STRIDE]
                        members = (door[FIRST_MEMBERS] + further).pointer()
                        call(b, module.get_global("work"), door[JOB].pointer(), members)
                _added(door.at(INSIDE), 1)
            with outside, b.if_then((_counted_up(looks) % _LOOKS == 0).value):
                call(b, door[DOOR_PAUSE_AT].pointer(_CALL))
    b.ret_void()
