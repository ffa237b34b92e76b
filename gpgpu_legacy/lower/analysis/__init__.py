"""Analyses of programs and plans before any code is made, each fact computed once.

An analysis reads programs, plans or the IR. It makes no code, and knows no target.
"""
