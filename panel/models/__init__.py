"""Models: each provider's way of answering an `Ask`, and how a spec becomes a model."""
