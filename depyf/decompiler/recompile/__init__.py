"""Recompile: source text -> a code object that can stand in for the original."""
