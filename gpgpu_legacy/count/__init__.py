"""The counter: instructions and bytes of a plan, exactly, without running it."""
