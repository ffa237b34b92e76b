"""Plans on OpenGL: two contexts, and the prepared plans of gl-raster, gl-compute and gl-arbfp.

Other executors do not live here; rooms above use OpenGL only through an Executor.
"""
