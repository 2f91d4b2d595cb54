"""Flow: a Program -> a control-flow graph of blocks."""
