"""Every method under the roofs of chips, with published and measured times.

The model of time lives in predict/, and the engine that measures in measure/.
"""
