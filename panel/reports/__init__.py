"""Results shown: output formats, the page, requirements."""
