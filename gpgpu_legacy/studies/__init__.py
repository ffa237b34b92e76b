"""One question in each folder, whole: its model, its table and its plot.

A study uses the verbs' results; no room below depends on a study.
"""
