"""Intrinsics for the native code of kernels: the Python text that begins each kernel's module.

They are intrinsics because numba takes a tenth of a second to compile each call of a function.
"""

from __future__ import annotations

INTRINSICS = """\
import numpy as np
from llvmlite import ir
from numba import carray
from numba.core import cgutils, types
from numba.extending import intrinsic

I64, F64 = ir.IntType(64), ir.DoubleType()


@intrinsic(prefer_literal=True)
def stack(context, dtype, length):
    # On the stack, LLVM knows that an array is no other; one from np.empty it would not.
    def pointer(context, builder, signature, arguments):
        element = context.get_data_type(signature.return_type.dtype)
        return cgutils.alloca_once(builder, element, size=length.literal_value)

    return types.CPointer(dtype.dtype)(dtype, length), pointer


def divided(context, builder, signature, arguments):
    # Both numbers on 64 bits, and the quotient, towards 0; by 0 it is 0.
    wide = [context.cast(builder, value, kind, types.int64)
            for value, kind in zip(arguments, signature.args)]
    by_zero = builder.icmp_signed("==", wide[1], I64(0))
    result = builder.sdiv(wide[0], builder.select(by_zero, I64(1), wide[1]))
    return *wide, builder.select(by_zero, I64(0), result)


@intrinsic
def quotient(context, a, b):
    def code(context, builder, signature, arguments):
        return divided(context, builder, signature, arguments)[2]

    return types.int64(a, b), code


@intrinsic
def remainder(context, a, b):
    def code(context, builder, signature, arguments):
        left, right, result = divided(context, builder, signature, arguments)
        return builder.sub(left, builder.mul(result, right))

    return types.int64(a, b), code


@intrinsic
def nearest(context, value, low, high):
    # What is too large for an integer becomes the nearest one, NaN becomes 0.
    def code(context, builder, signature, arguments):
        value, low, high = [context.cast(builder, argument, kind, types.float64)
                            for argument, kind in zip(arguments, signature.args)]
        value = builder.select(builder.fcmp_ordered("<", value, low), low, value)
        value = builder.select(builder.fcmp_ordered(">", value, high), high, value)
        number = builder.fcmp_ordered("ord", value, value)
        return builder.fptosi(builder.select(number, value, F64(0.0)), I64)

    return types.int64(value, low, high), code


@intrinsic
def inside(context, index, length, number, failed):
    # The index as uint64, of which one below 0 is a large one; failed: an int64 of two.
    def code(context, builder, signature, arguments):
        kinds = signature.args
        index, length, number = [context.cast(builder, value, kind, types.int64)
                                 for value, kind in zip(arguments[:3], kinds)]
        outside = builder.icmp_unsigned(">=", index, length)
        with builder.if_then(outside, likely=False):
            pointer = context.make_array(kinds[3])(context, builder, arguments[3]).data
            builder.store(number, pointer)
            builder.store(index, builder.gep(pointer, [I64(1)]))
            context.call_conv.return_user_exc(builder, IndexError, ())
        return index

    return types.uint64(index, length, number, failed), code


"""
"""The beginning of a module: imports, and functions for LLVM to inline."""
