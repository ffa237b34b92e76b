"""Emitters: each writes the lowering IR, or a kernel, as text by its table of spellings.

No emitter decides which computation happens, and none reads the text of another.

To write a new one, take glsl.py and glsl_fragment.py as the model. A language with infix operators
and calls is a subclass of TextEmitter (text.py).

1. Fill its tables: the sign and precedence of each operator, and the names of functions. `other`
   spells operations in neither. A SELECT may compare NaN, NEGATE changes the sign of 0, POWER never
   has a negative base, and ROUND and HALF round to a format. An operation that the language lacks
   becomes a function, as in glsl_functions.py. An operation may combine a vector with a number, and
   SELECT may have a number as its condition. DIVIDE and REMAINDER also work on whole numbers.
2. Spell the numbers. Every float32 must be read back exactly, including infinities and NaN.
3. Spell the statements. Drawn passes have Assign, Declare, Discard and Dead; lookup functions have
   Declare alone; work groups also have For, If, Store, Barrier and Return. A declared variable may
   be assigned later. A Function is spelled at the first Call of it.
4. Fill the hooks: `fetch` (a texel at a column and a row), `texel` (one at a known position),
   `sample` (a lookup by the texture's own sampler, if a program is translated by itself),
   `source` (a parameter, an attribute's plane, a fragment's position) and `name` (of a variable).
   If corner values do not lie in a plane, each triangle has its own plane (PassEmitter.source).
5. Put a head and a foot around fragment_statements(key, rasterised=…). The head declares inputs and
   uniforms, and the foot writes target_variable(n) to target n. Without a rasteriser, KILLED says
   whether a fragment is dead, and the arrays in fragments.py replace the framebuffer. Write the
   head last: it lists the names that were used.
6. Keep the order of operations. A product and a sum become one multiply-add only if multiply_add in
   isa/statements.py finds one and the caller did not ask for `exact`.
7. If `translate` is to offer it, call the file to_NAME.py and give it a TARGETS (targets.py).

tests/ir_values.py has the meaning of each statement in NumPy. Compare the new target with the
reference machine on the random programs of tests/strategies.py.
"""
