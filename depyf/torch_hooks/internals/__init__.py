"""The edge to torch: its private hooks, its structured trace, its names and the texts that it prints."""
