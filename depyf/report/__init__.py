"""Pure renderers: each turns the saved record of a session into one text, and knows nothing else."""
