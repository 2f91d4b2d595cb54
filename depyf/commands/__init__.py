"""The commands of `depyf`, one module each; `depyf.__main__` reads their arguments.

    depyf run script.py        run a program under `prepare_debug`
    depyf show DIR             print its summary again, or as data
    depyf where FILE:LINE DIR  print what became of a line
    depyf diff DIR_A DIR_B     print what two runs did not do alike
    depyf doctor               print what of this Python and this torch is supported

A command returns its exit status: 0, 1 where the answer is no (not proved, not alike, not supported), 2 where it could
not be given, with one line on stderr that has what to do.  `run` returns what the program returned.
"""
