"""How tables, plots and pictures look: results, their writers, colours, text and layout.

The room knows nothing of the project: callers say what is shown and what it is called.
"""
