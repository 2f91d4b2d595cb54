"""The table of lines: the user's lines, and the lines of transformed code, graphs and kernels that stem from them."""
