"""Plans on OpenGL: two contexts, and the prepared plans of gl-raster, gl-compute and gl-arbfp.

moderngl makes the context that gl-raster and gl-compute share, compiles GLSL, sets uniforms, keeps
buffers, draws gl-raster's rectangles, dispatches, and waits for stores. Only core.py imports it.
Only there are its inner objects taken, because the outer ones take as long as the driver.

All else calls OpenGL's own functions, the `gl` of a SharedContext. egl.py loads them with the
signatures of headers.py. Only these two files know ctypes; others pass numbers and NumPy's arrays.
The functions serve what moderngl lacks: textures of every kind that are drawn to, with their
framebuffers and samplers (drawn.py); textures of buffers, mapped memory and fences; what both
contexts have, such as the device's clock (sharing.py); and all that gl-arbfp does in its
compatibility context (compatibility.py), from ARB programs to fixed function.

gl-raster and gl-arbfp draw by one Draw (drawn.py). It binds textures, and sets the framebuffer and
the Operations on fragments, by way of Bound, which sets nothing twice. Each executor itself sets a
program and its numbers, and draws the rectangle.

Other executors do not live here; rooms above use OpenGL only through an Executor.
"""
