"""A comparison as a page of HTML: one file that needs nothing else, without a script."""
