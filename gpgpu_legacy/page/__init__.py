"""The page for people: its sections, and the data of the scripts that play plans in a browser.

It shows what other rooms compute, and computes no result of its own.
"""
