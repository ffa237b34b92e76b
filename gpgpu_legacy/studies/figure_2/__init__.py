"""Hall, Carr & Hart's Figure 2."""
