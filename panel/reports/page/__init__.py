"""`report.html`: a run to look at, in one file that opens without a network.

`report` puts a page together: on its first screen the five answers, then `sections`, each a result
that `persona_panel.results.formats.html` lays out, and last the texts and judgments that the page's
script opens, which are in `embedded`. Charts are SVG from templates: a library would be inlined
with megabytes, and would draw after loading, where these print, scale and stand in tables with
their figures.
"""

AUTOMATIC = 10_000
"""The most judgments of a run at whose end the page is written unasked: with so many it takes
a tenth of the run's CPU with summary.json (`benchmarks/overhead.py`)."""
