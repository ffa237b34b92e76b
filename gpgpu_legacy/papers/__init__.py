"""The papers' numbers recomputed: formulas, measurements, and the audit of all claims.

What a paper printed is data and lives in published/.
"""
