"""The ceilings of this machine, measured."""
