"""Audits: biases of a panel and its resistance to prompt injection, measured on the panel."""
