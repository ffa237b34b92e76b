"""Tables of measurements: published, recomputed, and measured here."""
