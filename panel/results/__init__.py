"""Results: their sentences, requirements on their figures, their formats."""
