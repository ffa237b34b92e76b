"""What a tile saves a cache: formulas beside exact simulation."""
