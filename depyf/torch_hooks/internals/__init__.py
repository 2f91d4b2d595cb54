"""What is torch's: its private hooks, its structured trace, and the texts that it prints."""
