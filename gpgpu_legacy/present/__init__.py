"""The presentation of results: tables, plots and pictures, their writers, colours and layout.

The room knows nothing of the project: callers say what is shown and what it is called.

The grammar of the pictures, which the page, figures, animations, notebooks and docs obey:

- A matrix is drawn as in a book: row 1 on top, indices from 1, names A, B and C. A texture or a
  framebuffer is drawn as OpenGL draws a window: y up, x to the right, coordinates from 0, centres
  of texels at a half. Row 1 of a matrix lies at y = 0. The lesson shows once how a matrix lies in
  its texture, with both numberings at the edges; from there on, it draws a texture that holds a
  matrix as that matrix. Figures, animations and pages of plans show textures, fields (fluids, heat,
  life) among them, and say that row 0 is at the bottom.
- Several channels are pictures beside and below one another, r and g above b and a. The texels of a
  texture more than 8 times as long as wide are stretched.
- A number of a matrix is grey: 0 is black, the largest is white, below 0 is blue. Magnitudes in
  textures have one sequential scale and signed fields one diverging scale (`colours.py`), whose
  lightness says how far from 0 a number is. A scale belongs to a quantity: A and B and their
  stripes share one, products and sums share another, and textures that swap roles are one quantity.
  Each scale stands beside its pictures, and ends at the largest number, never before it.
- The channels r, g, b and a are red, green, blue and violet everywhere.
- What acts now has the accent colour, orange, and nothing else has it. What it reads is outlined,
  what it writes is filled. What the reader chose has a dashed blue frame.
- What is not drawn yet is hatched. What a format cut off has a red edge.
- A number has at most four digits in a cell, five characters with the point; the exact one is a
  click away.
- Motion explains: 400 ms a step, only while it is seen, and none where reduced motion is asked.
"""
