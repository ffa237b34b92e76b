"""How tables, plots and pictures look. It formats, and knows nothing of the project."""
