"""One engine for all measuring, and on it benchmarks, tuning and calibration.

Nothing here predicts a time, and a paper's tables live in papers/.
"""
