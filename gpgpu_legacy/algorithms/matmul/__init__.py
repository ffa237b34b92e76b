"""Matrix products: a method in each module, beside what the methods share."""
