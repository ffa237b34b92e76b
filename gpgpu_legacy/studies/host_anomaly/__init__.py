"""Why the published host is slow at n = 1024."""
