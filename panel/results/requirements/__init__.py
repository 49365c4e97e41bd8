"""Requirements on figures, such as `composite[my-model] >= 6`: are they met?

`requirement` reads them, `figures` finds the figure that one names, `of_result` collects the
figures of any result, `decision` decides, from figures alone, and `decided` does all of it;
`sentences`, `junit` and `markdown` write what became of them.
"""
