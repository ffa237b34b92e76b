"""Methods measured against one another and against their peers."""
