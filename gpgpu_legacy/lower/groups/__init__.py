"""Fused passes on work groups: the shape of a group, its staging, and an invocation's statements.

Everything here is statements and numbers: no text of a shader, and no call of a driver.
"""
