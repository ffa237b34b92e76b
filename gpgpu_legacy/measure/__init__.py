"""One engine for all measuring, and what is measured with it: bench, tuning, calibration."""
