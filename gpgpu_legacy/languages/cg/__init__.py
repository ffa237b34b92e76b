"""Cg 1.x fragment programs, and HLSL where it is the same: entry functions bound by semantics."""
