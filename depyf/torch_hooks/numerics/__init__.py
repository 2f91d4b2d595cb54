"""Numerics: watch a compiled program for the first NaN or Inf, and find the line of the user's that made it."""
