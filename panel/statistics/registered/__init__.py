"""The statistics that `agree`, `correlate` and panel quality show: one file each."""
