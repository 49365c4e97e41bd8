"""A blinded study with human raters: packets to send, answers collected and unblinded.

`design` decides who sees which texts in which order, with `rotation` and `latin_square`; `blinding`
gives ids that say nothing, `packet` is what a rater is given and `page` the HTML file that it comes
in, `kit` makes a study, `key` is what tells the labels, and `answers`, `collection`, `reliability`
and `tables` make of the raters' files ratings that `agree` and `people correlate` take.
"""
