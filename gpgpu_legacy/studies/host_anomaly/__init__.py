"""Why the published host may be slow at n = 1024: simulated misses, a fit, and predictions.

The simulator of pages and caches lives in cache/.
"""
