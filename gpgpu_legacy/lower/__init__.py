"""From programs and plans to code for a device: analysis, then printing."""
