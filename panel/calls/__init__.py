"""Calls: what stands between a judge's question and a model — cache, limits, retries."""
