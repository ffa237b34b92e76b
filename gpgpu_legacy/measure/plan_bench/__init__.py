"""Any plan measured on the executors, in turn with a reference function."""
