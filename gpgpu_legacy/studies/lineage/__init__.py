"""Every method in the order of history, on one machine."""
