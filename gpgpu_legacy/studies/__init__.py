"""One question in each file, whole: its model, its table, its plot and its command.

To add a study, add a file. A study uses the verbs' results; no room below depends on a study. What
several studies share is in shared/.
"""
