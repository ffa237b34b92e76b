"""Fused passes on work groups: the shape of a group, what it stages, what an invocation executes.

All of it is statements and numbers: no text of a shader, and no call of a driver.
"""
