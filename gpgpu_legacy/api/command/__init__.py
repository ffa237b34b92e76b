"""What every command is made of: its options, its words, and the frame around it.

The commands themselves are in cli/, and those of studies in studies/.
"""
