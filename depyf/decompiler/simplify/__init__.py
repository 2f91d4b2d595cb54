"""Simplify: remove what only a code generator put there, such as locals that it invented and never reads."""
