"""A blinded study with human raters: packets to send, answers collected and unblinded.

`design` and `rotation` decide who sees which texts in which order, `blinding` gives ids that say nothing,
`packet` is what a rater is given and `page` the HTML file that it comes in, `kit` writes a study's
folder, `key` is what tells the labels, and `answers`, `collection` and `reliability` make of the
raters' files ratings that `agree` and `correlate` take.
"""
