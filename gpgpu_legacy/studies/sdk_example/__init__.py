"""The Mali SDK's printed example, reproduced."""
