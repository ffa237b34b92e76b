"""The calibration of this machine: plans that measure its ceilings, and the profile from them.

The model that uses a profile lives in predict/.
"""
