"""What a tile saves behind a cache: formulas beside exact simulation.

The simulator lives in cache/, and the algorithm in algorithms/.
"""
