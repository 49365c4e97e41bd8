"""Requirements on figures, such as `composite[my-model] >= 6`: are they met?

`requirement` reads them, `figures` collects the figures of any result and finds the one that is
named, `decision` decides and says so in sentences; `files` writes them as Markdown and
JUnit.
"""
