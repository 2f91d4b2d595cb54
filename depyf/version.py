"""The version of depyf, in a module that everything may import."""

__version__ = "1.0.0.dev0"
