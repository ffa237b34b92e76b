"""What Hall, Carr & Hart's Figure 2 demonstrates: a Larson-McAllister product, pass by pass."""
