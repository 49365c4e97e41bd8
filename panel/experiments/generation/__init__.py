"""Texts to be judged, from models: essays, speeches of a limited length, critiques, questions.

What a model is sent is in `request`, what is made of its answer in `texts`, what there is to
generate in `plan`, and how it is done in `running`.
"""
