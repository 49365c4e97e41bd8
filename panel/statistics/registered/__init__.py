"""The statistics that `agree`, `correlate` and panel quality show, by command."""
