"""Emitters: one file a target, which spells the lowering IR."""
