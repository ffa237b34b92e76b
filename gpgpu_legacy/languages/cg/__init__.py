"""Cg 1.x fragment programs, and the HLSL that is the same: an entry function bound by semantics."""
