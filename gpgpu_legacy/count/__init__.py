"""The counters: what plans and programs cost, counted exactly without running them."""
