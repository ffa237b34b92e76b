"""How tables, plots and pictures look. It formats, and knows nothing of the project.

What is shown, and what it is called, whoever shows it says.
"""
