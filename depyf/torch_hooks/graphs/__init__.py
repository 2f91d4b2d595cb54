"""Graphs: every stage of a compiled graph as a file, linked to what runs."""
