"""Output formats: one a file, called as the file is; each takes any result.

A format is a module with `render(result, to, *, full)`: see
`persona_panel.results.result.ResultFormat`. Another distribution adds one by an entry point of the
group `persona_panel.renderers`:

    [project.entry-points."persona_panel.renderers"]
    asciidoc = "my_package.asciidoc"

Every command that prints a result then takes `--format asciidoc`.
"""
