"""The executors: each carries out plans on one kind of machine."""
