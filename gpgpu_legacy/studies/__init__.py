"""One question in each file, whole: its model, its table and its plot.

A study uses the verbs' results; no room below depends on a study.
"""
