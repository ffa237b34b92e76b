"""ARB_fragment_program 1.0 (GL_ARB_fragment_program, revision 28): text to Program and back.

Grammar, diagnostics and printer live here; nothing here runs a Program or knows a plan.
"""
