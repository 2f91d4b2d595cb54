"""Text helpers without torch, records or the decompiler: the bottom room."""
