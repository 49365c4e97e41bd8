"""Do raters agree?"""
