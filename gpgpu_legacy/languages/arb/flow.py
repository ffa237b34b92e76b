"""Branches, loops and subroutines: checks blocks as they are read, and inlines subroutines.

NV_fragment_program2, section 3.11.4.X, defines them. A label begins a subroutine, which ends with
its RET; a program begins at the label `main`, if it has one. A CAL under a test becomes a branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from lark import Token

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.execute import MOST_TRIPS
from gpgpu_legacy.isa.opcodes import OPCODES, OperandKind
from gpgpu_legacy.isa.program import (
    ALWAYS,
    CLOSES,
    LOOPS,
    OPENS,
    CodeTest,
    Instruction,
    Parameter,
    Src,
)
from gpgpu_legacy.languages.arb.instructions import InstructionReader
from gpgpu_legacy.languages.arb.syntax import Path, WrittenOperand, form
from gpgpu_legacy.languages.diagnostics import FaultError, meant, shortened

SECTION = "3.11.4.X"

MOST_IFS, MOST_LOOPS, MOST_CALLS = 48, 4, 4
"""How deeply IFs, loops and calls nest: what the extension promises (MAX_PROGRAM_IF_DEPTH_NV …)."""

_WITH_OPERAND = ("IF", "CAL", *LOOPS)


@frozen
class _Call:
    """A CAL, or a RET, which has no label."""

    word: Token
    label: Token | None
    test: CodeTest | None


class Flow:
    """The blocks of one text. parts: its instructions so far, with calls and returns."""

    def __init__(self, reader: InstructionReader) -> None:
        """reader: reads the text's operands."""
        self.reader = reader
        self.parts: list[Instruction | _Call] = []
        self._open: list[Token] = []
        self._labels: dict[str, int] = {}

    def label(self, name: Token) -> None:
        """Put a label before the next instruction."""
        if self._open:
            raise _fault(f"the label {shortened(name)} is inside {self._open[-1]}", "move it", name)
        if name in self._labels:
            raise _fault(f"{shortened(name)} labels two places", "give it another name", name)
        self._labels[str(name)] = len(self.parts)

    def statement(self, word: Token, operand: WrittenOperand | None, tested: Path | None) -> None:
        """Read an instruction of a branch, loop or subroutine. tested: its test in parentheses."""
        test = None if tested is None else self.reader.code_test(tested)
        is_wrong = (operand is not None) is not (word in _WITH_OPERAND)
        if word == "CAL" and operand is not None:
            is_decorated = operand.sign is not None or operand.absolute or not operand.word
            is_wrong = is_decorated or not isinstance(operand.item, Path)
        if is_wrong or (test is not None and word not in ("BRK", "CAL", "RET")):
            raise _fault(f"{word} does not take these operands", f"as in {form(word)}", word)
        if word not in OPCODES:
            label = None if operand is None else operand.token
            self.parts.append(_Call(word, label, test))
            return
        self._nest(word)
        if word == "IF":
            assert operand is not None
            test = self.reader.bare_test(operand)
            if test is None:
                raise _fault("IF tests the condition code", f"as in {form(word)}", operand.token)
        elif word == "BRK" and test is None:
            test = ALWAYS
        srcs = () if operand is None or word == "IF" else (self._count(operand),)
        span = self.reader.text.position(word)
        self.parts.append(Instruction(str(word), None, srcs, span=span, test=test))

    def _count(self, operand: WrittenOperand) -> Src:
        """The source of a loop's number of trips."""
        src = self.reader.source(operand, OperandKind.VECTOR)
        if not isinstance(src.register, Parameter):
            raise _fault(
                "the trips of a loop are a program parameter",
                "leave a loop early by a BRK, as in BRK (GT.x);",
                operand.token,
            )
        if (src.number or 0) >= MOST_TRIPS + 1:
            problem = f"a loop of {src.number:g} trips"
            raise _fault(problem, f"at most {MOST_TRIPS} are allowed", operand.token)
        return src

    def _nest(self, word: Token) -> None:
        """Check that an instruction may stand here, and open or close its block."""
        loops = [w for w in self._open if w in LOOPS]
        if word == "BRK" and not loops:
            raise _fault("BRK is not inside a loop", "put it between REP and ENDREP", word)
        if word in CLOSES:
            opener = self._open.pop() if self._open else ""
            if opener not in CLOSES[word]:
                after = f"after {opener}" if opener else "without a block"
                raise _fault(f"{word} {after}", f"it ends {' or '.join(CLOSES[word])}", word)
        most = MOST_IFS if word == "IF" else MOST_LOOPS
        if word in ("IF", *LOOPS):
            depth = len(loops) if word in LOOPS else len(self._open) - len(loops)
            if depth >= most:
                raise _fault(f"{word} is inside {depth} others", f"at most {most - 1} are", word)
        if word in OPENS:
            self._open.append(word)

    def instructions(self, most: int) -> tuple[Instruction, ...]:
        """All instructions in order, with each call replaced by its subroutine.

        most: at most one instruction more than this is returned.
        """
        if self._open:
            raise _fault(f"{self._open[-1]} has no end", "close its block", self._open[-1])
        inlined = self._inlined(self._labels.get("main", 0), 0)
        return tuple(islice(inlined, most + 1))  # check_limits reports one too many

    def _inlined(self, start: int, depth: int) -> Iterator[Instruction]:
        inside = 0
        for part in self.parts[start:]:
            if isinstance(part, Instruction):
                inside += (part.mnemonic in OPENS) - (part.mnemonic in CLOSES)
                yield part
            elif part.label is None:
                if inside or part.test is not None:
                    raise _fault("RET under a condition", "branch around the rest", part.word)
                return
            else:
                yield from self._called(part, depth)

    def _called(self, call: _Call, depth: int) -> Iterator[Instruction]:
        label = call.label
        assert label is not None
        if label not in self._labels:
            raise _fault(
                f"there is no label {shortened(label)}",
                f"{meant(label, self._labels)}expected a label of the program",
                label,
            )
        if depth >= MOST_CALLS:
            raise _fault(
                f"{shortened(label)} is called inside {depth} calls", f"at most {MOST_CALLS}", label
            )
        body = self._inlined(self._labels[label], depth + 1)
        if call.test is None:
            yield from body
            return
        span = self.reader.text.position(call.word)
        yield Instruction("IF", None, (), span=span, test=call.test)
        yield from body
        yield Instruction("ENDIF", None, (), span=span)


def _fault(problem: str, expected: str, at: Token) -> FaultError:
    return FaultError(problem, expected, SECTION, at)
