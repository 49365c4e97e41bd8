"""How reliable is the panel, and which of its judges does it need?"""
