"""Text helpers that know nothing of torch, of records or of the decompiler: the bottom room."""
