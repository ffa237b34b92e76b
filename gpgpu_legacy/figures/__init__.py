"""What passes wrote, as pictures: sheets, animations, heat maps, and pictures in files.

Everything here draws values that it is given; what runs or simulates a plan lives in api/.
"""
