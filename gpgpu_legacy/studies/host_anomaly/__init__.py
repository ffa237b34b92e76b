"""Why the published host is slow at n = 1024: simulated misses, a fit, and predictions.

The simulator of pages and caches lives in cache/.
"""
