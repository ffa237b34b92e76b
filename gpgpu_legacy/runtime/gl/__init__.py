"""Plans on OpenGL: a core and a compatibility context, and the prepared plans of gl-raster,
gl-compute and gl-arbfp with their shared parts. Other executors do not live here; rooms above use
OpenGL only through an Executor.
"""
