"""Measures of how far ratings can be trusted: agreement, panel and people compared, panel quality.

Pure functions: arrays in, small frozen results out. Ratings are `(items, raters)`, scores
`(items,)`, NaN where there is none; nothing is imputed. `prompts`, `clusters` and `groups` are a
label an item: without prompts all items are one, without clusters each is its own. A `seed` is of
what is drawn, a `confidence` lies in (0, 1). A statistic that is undefined has the value NaN and a
`reason`. Most have a `resampled_…` form, of which `jackknife` makes an interval. Arguments other
than is said (shapes, ranges, choices, infinite values, labels that are not one an item) raise
ValueError with what was found.

`agree`, `correlate` and `panel_quality` compute what is registered: to add a statistic to one of
them, register a function in a file of its own in `persona_panel.statistics.registered`, or in a
module of another package that is an entry point of `persona_panel.statistics`:

    from persona_panel.statistics import AgreementBlock, Statistic, agreement_statistics

    @agreement_statistics.register("range_agreement", "range\\nagreement")
    def range_agreement(block: AgreementBlock) -> Iterator[Statistic]:
        yield statistic_of(block.ratings)
"""

from persona_panel._names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
