"""The page for people: its sections, and the data of the scripts that play plans in a browser.

It shows results of other rooms, and computes none of its own.
"""
