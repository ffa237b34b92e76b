"""The chips and APIs of 2001 to 2022 as data, and whether programs and plans load on them.

Numbers live in data files with their sources; nothing here measures or predicts a time.
"""
