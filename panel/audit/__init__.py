"""Audits: what sways a panel that should not, measured on the panel itself."""
