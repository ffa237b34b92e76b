"""The papers as data: what they printed, and where."""
