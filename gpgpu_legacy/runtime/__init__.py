"""The executors: each runs plans on one kind of machine."""
