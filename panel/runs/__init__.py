"""A batch through the graphs, its result, and the folder that holds it."""
