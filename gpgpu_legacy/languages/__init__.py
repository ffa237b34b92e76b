"""The shader languages of the time, a front end each: text becomes a Program."""
