"""The lowering IR, how programs become it, and what code of it and what runs it share.

Here lie the IR, programs as its statements, and what a pass gives to code. No file runs a plan.
"""
