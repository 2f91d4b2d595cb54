"""Stepping: what `debug()` changes, while it is open, so that a debugger can stop in code that a kernel hides."""
