"""What speed, memory and endurance are measured with; `python -m benchmarks --help` says how."""
