"""One question a folder, whole: the model, its table, its plot."""
