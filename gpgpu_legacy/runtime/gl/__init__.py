"""Plans on OpenGL: two contexts, and the prepared plans of gl-raster, gl-compute and gl-arbfp.

Which calls are whose: moderngl makes the context that gl-raster and gl-compute share, compiles
GLSL, sets uniforms, keeps buffers, draws gl-raster's rectangles, dispatches, and waits for stores.
Only core.py imports it, and only there are its inner objects taken, because the outer ones take as
long as the driver. All else is OpenGL's own functions, the `gl` of a SharedContext: egl.py loads
them with the signatures of headers.py, and only these two files know ctypes; others give numbers
and NumPy's arrays. They are what moderngl lacks: textures that are drawn to, of every kind alike,
with their framebuffers and samplers (drawn.py), textures of buffers, mapped memory and fences;
what both contexts have, as the device's clock (sharing.py); and all that gl-arbfp does in its
compatibility context (compatibility.py), from ARB programs to fixed function. Both executors that
draw do so by one Draw (drawn.py): it binds textures, and sets a Target and the Operations on its
fragments, by way of Bound, which sets nothing twice. How a program and its numbers are
set, and its rectangle is drawn, is each executor's own.

Other executors do not live here; rooms above use OpenGL only through an Executor.
"""
