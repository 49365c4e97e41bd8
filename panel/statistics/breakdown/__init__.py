"""Personas beside the panel, groups of judges beside each other, and contested responses."""
