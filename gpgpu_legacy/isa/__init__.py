"""What programs and kernels are below their front ends, and what their operations mean.

A program is instructions of ARB_fragment_program 1.0 and its options: opcodes, arithmetic and GL
state; `execute` runs it on values of any domain. A kernel is typed expressions and statements, into
which lower/ also brings programs and the fixed parts of the machine. Analyses read these, emitters
spell them, and interp/ executes kernels in them. The room knows no program text and no plan.
"""
