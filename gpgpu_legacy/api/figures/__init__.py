"""The verb `figure`: the output of passes in sheets and animations; and picture files.

figure.py runs the plan; the other modules draw, read and write given values.
"""
