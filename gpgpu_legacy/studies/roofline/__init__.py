"""Every method under a chip's roof."""
