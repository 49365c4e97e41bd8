"""What runs models to learn something: sweeps, audits, generated texts, questions."""
