"""Files in and out: read and checked, written whole, with keys masked; the errors they raise."""
