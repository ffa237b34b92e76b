"""The output of passes as pictures: sheets, animations, heat maps, and pictures in files.

Everything here draws given values; code that runs or simulates a plan lives in api/.
"""
