"""The program of the child: compile the texts that come on stdin, write marshalled code objects to stdout.

Runs in interpreters from 3.7 on, with `-I -S`, and imports nothing of depyf. It executes nothing of what it compiles.
A request is four unsigned integers (flags, and the lengths of mode, file name and text) and those bytes; an answer is
a byte, a length and as many bytes. The first answer, which no request asks for, states what interpreter this is.
"""

from __future__ import annotations

COMPILED, SYNTAX_ERROR, OTHER_ERROR = range(3)
REQUEST, ANSWER = "<IIII", "<BI"


def main() -> None:
    """Answer requests until stdin ends."""
    import marshal
    import struct
    import sys
    from _frozen_importlib_external import MAGIC_NUMBER

    source, sink = sys.stdin.buffer, sys.stdout.buffer

    def answer(status: int, data: bytes) -> None:
        sink.write(struct.pack(ANSWER, status, len(data)) + data)
        sink.flush()

    answer(COMPILED, MAGIC_NUMBER + sys.implementation.name.encode())
    while True:
        head = source.read(struct.calcsize(REQUEST))
        if len(head) < struct.calcsize(REQUEST):
            return
        flags, *sizes = struct.unpack(REQUEST, head)
        mode, filename, text = [source.read(size).decode("utf-8", "surrogatepass") for size in sizes]
        try:
            code = compile(text, filename, mode, flags=flags, dont_inherit=True, optimize=0)
            answer(COMPILED, marshal.dumps(code))
        except SyntaxError as error:
            answer(SYNTAX_ERROR, str(error).encode("utf-8", "backslashreplace"))
        except Exception as error:
            answer(OTHER_ERROR, (type(error).__name__ + ": " + str(error)).encode("utf-8", "backslashreplace"))


if __name__ == "__main__":
    main()
