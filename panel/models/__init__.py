"""Models: each provider's way of answering an `ModelRequest`, and how a spec becomes a model."""
