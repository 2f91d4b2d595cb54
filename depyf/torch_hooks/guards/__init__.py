"""Guards: torch's guard tree and its reasons for recompiles, read into records."""
