"""The modes of judging: pointwise, one response at a time, and comparative, all of a prompt."""
