"""The chips and the APIs of 2001 to 2022 as data, and whether a plan would have run on them."""
