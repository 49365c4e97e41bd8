"""`report.html`: a run to look at, in one file that opens without a network.

`report` puts a page together: each section is a module that turns a run into the small values that
its template in `templates/` shows, and `embedded` has the responses and judgments that the page's
script opens. Charts are SVG from the templates: a library would be inlined with megabytes, and
would draw after loading, where these print, scale and stand in tables with their figures.
"""

AUTOMATIC = 10_000
"""The most judgments of a run at whose end the page is written unasked: up to there it takes at
most 5 % of the run's CPU (`benchmarks/overhead.py`)."""
