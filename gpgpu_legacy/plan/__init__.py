"""What an algorithm does, as frozen data: textures, passes, Repeats, and their file plan.json.

Here is also what a Repeat means, what makes a plan valid, and how people speak of passes. A plan
names no executor and no machine, and nothing here runs, counts or emits anything.
"""
