"""The presentation of results: tables, plots and pictures, their writers, colours and layout.

The room knows nothing of the project: callers say what is shown and what it is called.
"""
