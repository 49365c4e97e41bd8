"""Does the panel agree with people?"""
