"""Experiments that run models: sweeps, audits, generated texts, questions."""
