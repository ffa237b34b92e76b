"""The table that Hall, Carr & Hart 2003 does not have: its methods through caches.

The simulator lives in cache/.
"""
