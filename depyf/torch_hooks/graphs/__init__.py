"""Graphs: each stage of a compiled graph becomes a file, and the code that runs is linked to its file."""
