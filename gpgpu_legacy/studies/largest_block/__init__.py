"""The largest block of a method that loads on a chip."""
