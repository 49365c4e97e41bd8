"""A blinded study with human raters: `design` decides who sees which texts in which order, `kit`
makes packets with ids that say nothing, `exports` writes them, `collection` makes ratings of the
answers.
"""
