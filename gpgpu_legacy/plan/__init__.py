"""The plan, an algorithm as frozen data: textures, passes, Repeats, and their file plan.json.

The room also defines what a Repeat means, what makes a plan valid, and how passes are named to
people. A plan names no executor and no machine, and nothing here runs, counts or emits anything.
"""
