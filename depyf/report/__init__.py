"""Pure renderers: each turns the record of a session into one text, and reads nothing else."""
