"""From programs and plans to code for a device: analyses, then emitters."""
