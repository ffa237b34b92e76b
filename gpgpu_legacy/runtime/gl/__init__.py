"""What runs plans on OpenGL: two contexts, of the core and of the compatibility profile, and what
prepared plans of gl-raster, gl-compute and gl-arbfp share and have of their own. Other executors
and the rooms above do not live here, and learn of OpenGL only through an Executor.
"""
