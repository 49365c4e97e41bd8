"""The figures of results that do not describe themselves yet, and `check` for all results."""
