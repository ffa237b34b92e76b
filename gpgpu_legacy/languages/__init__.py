"""The shader languages of the time, a folder each, and how the language of a text is found."""
