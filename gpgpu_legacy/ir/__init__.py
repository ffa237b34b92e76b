"""The one IR: what programs, kernels and the fixed parts of the machine are below their front ends.

Front ends and lower/ make it, analyses read it, emitters spell it, and interp/ executes kernels in
it.
"""
