"""Decompile code of hostile shapes at three sizes, in child processes with limits, and print how the cost grows.

    python bench/hostile_shapes.py [--only NAME] [--scale 1.0] [--seconds 60] [--megabytes 1000]

Half of the shapes are sources, which a compiler accepts; the other half are assembled, and no compiler makes them. Each
is decompiled at a quarter, half and full size. Prints the CPU seconds and the memory of each, and whether the answer is
proved or a listing. A shape fails if the child crashes, raises, or needs more seconds or memory than allowed.
"""

from __future__ import annotations

import argparse
import marshal
import os
import pathlib
import random
import resource
import signal
import sys
import time
from types import CodeType
from typing import Callable, Dict, Iterator, List, Sequence, Tuple

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

from depyf.decompiler.bytecode.python_facts import RUNNING_VERSION  # noqa: E402
from depyf.decompiler.decode.instructions import OPCODE_TABLES, opcode_widths  # noqa: E402
from depyf.decompiler.pipeline import decompile_frame  # noqa: E402

NUMBERS = {name: number for number, name in OPCODE_TABLES[RUNNING_VERSION].OPNAMES.items()}
WIDTHS = opcode_widths(RUNNING_VERSION)
Entry = Tuple[str, str, str, int, bool]  # labels of start, end and target; depth; whether the offset is pushed
Line = Tuple[str, object]  # an opcode with its argument or the label that it jumps to; ("", label) is a label


# ---------------------------------------------------------------- assembled code


def assembled(lines: Sequence[Line], table: Sequence[Entry] = (), stack: int = 50, **fields: object) -> CodeType:
    """Return a code object of one parameter, `a`. Every argument takes four bytes, so that no offset depends on it."""
    at: Dict[str, int] = {}
    offset = 0
    for opname, arg in lines:
        if opname:
            offset += 6 + WIDTHS[NUMBERS[opname]]
        else:
            at[str(arg)] = offset
    data = bytearray()
    for opname, arg in lines:
        if not opname:
            continue
        after = len(data) + 6 + WIDTHS[NUMBERS[opname]]
        value = arg if isinstance(arg, int) else abs(at[str(arg)] - after) // 2
        for shift in (24, 16, 8):
            data += bytes([NUMBERS["EXTENDED_ARG"], value >> shift & 255])
        data += bytes([NUMBERS[opname], value & 255]) + bytes(after - len(data) - 2)
    entries = sorted((at[first], at[end], at[target], depth, lasti) for first, end, target, depth, lasti in table)
    written = b"".join(
        number(first // 2, 128) + number((end - first) // 2) + number(target // 2) + number(depth << 1 | lasti)
        for first, end, target, depth, lasti in entries
    )

    def f(a: object) -> None:
        pass

    return f.__code__.replace(  # type: ignore[arg-type]
        co_code=bytes(data), co_exceptiontable=written, co_stacksize=stack, co_linetable=b"", **fields
    )


def number(value: int, mark: int = 0) -> bytes:
    """Return a number of an exception table."""
    digits = [value & 63]
    while value > 63:
        value >>= 6
        digits.append(value & 63 | 64)
    digits.reverse()
    return bytes([digits[0] | mark, *digits[1:]])


IF_FALSE, IF_TRUE = [
    f"POP_JUMP_IF_{outcome}" if f"POP_JUMP_IF_{outcome}" in NUMBERS else f"POP_JUMP_FORWARD_IF_{outcome}"
    for outcome in ("FALSE", "TRUE")
]
START: List[Line] = [("RESUME", 0)]
END: List[Line] = [("LOAD_FAST", 0), ("RETURN_VALUE", 0)]


def test(target: str, jump: str = IF_FALSE) -> List[Line]:
    """Return a test of `a` that leads to a later place."""
    to_bool: List[Line] = [("TO_BOOL", 0)] if "TO_BOOL" in NUMBERS else []
    return [("LOAD_FAST", 0), *to_bool, (jump, target)]


def label(name: object) -> Line:
    return "", str(name)


def effect() -> List[Line]:
    return [("LOAD_FAST", 0), ("UNARY_NEGATIVE", 0), ("POP_TOP", 0)]


def ladder(n: int) -> CodeType:
    """Each block leads to the next one or to the one after it: as many paths as Fibonacci numbers."""
    lines = list(START)
    for i in range(n):
        lines += [label(i), *effect(), *test(str(i + 2))]
    return assembled([*lines, label(n), *effect(), label(n + 1), *END])


def tangle(n: int, effects: bool = True, seed: int = 1) -> CodeType:
    """Jumps between random places, forward and back: no nesting at all."""
    chance = random.Random(seed)
    lines = list(START)
    for i in range(n):
        lines += [label(i), *(effect() if effects else ())]
        lines += test(str(chance.randrange(i + 1, n + 1)))
        if i:
            lines += [*test(f"skip{i}"), ("JUMP_BACKWARD", str(chance.randrange(i))), label(f"skip{i}")]
    return assembled([*lines, label(n), *END])


def loops_inside(n: int) -> CodeType:
    """Loops inside each other, all with tests of their own."""
    lines = list(START)
    for i in range(n):
        lines += [label(f"head{i}"), *effect(), *test(f"after{i}")]
    for i in reversed(range(n)):
        lines += [("JUMP_BACKWARD", f"head{i}"), label(f"after{i}")]
    return assembled([*lines, *END])


def back_to_all(n: int) -> CodeType:
    """From one place, tests that lead back to every place before it."""
    lines = list(START)
    for i in range(n):
        lines += [label(f"head{i}"), *effect()]
    for i in range(n):
        lines += [*test(f"skip{i}"), ("JUMP_BACKWARD", f"head{i}"), label(f"skip{i}")]
    return assembled([*lines, *END])


def jumps_only(n: int) -> CodeType:
    """A chain of jumps that do nothing, each reached from a test as well."""
    lines = list(START)
    for i in range(n):
        lines += test(f"chain{i}")
    lines += END
    for i in range(n):
        lines += [label(f"chain{i}"), ("JUMP_FORWARD", f"chain{i + 1}")]
    return assembled([*lines, label(f"chain{n}"), *END])


def handlers_inside(n: int) -> CodeType:
    """Handlers that protect each other: each one's own code lies under the next."""
    lines, table = [*START, label("body0"), *effect(), label("end0"), *END], []
    for i in range(n):
        lines += [label(f"h{i}"), ("PUSH_EXC_INFO", 0), ("POP_TOP", 0), label(f"body{i + 1}"), *effect()]
        lines += [("POP_EXCEPT", 0), label(f"end{i + 1}"), *END]
        table.append((f"body{i}", f"end{i}", f"h{i}", 2 * 0, False))
    lines += [label(f"h{n}"), ("PUSH_EXC_INFO", 0), ("POP_TOP", 0), ("POP_EXCEPT", 0), *END]
    table.append((f"body{n}", f"end{n}", f"h{n}", 0, False))
    return assembled(lines, table)


def handlers_deeper(n: int) -> CodeType:
    """Handlers inside each other's handlers, with an exception saved for each."""
    lines, table = [*START, label("body0"), *effect(), label("end0"), *END], []
    for i in range(n):
        lines += [label(f"h{i}"), ("PUSH_EXC_INFO", 0), ("POP_TOP", 0), label(f"body{i + 1}"), *effect()]
        lines += [label(f"end{i + 1}"), *([("POP_EXCEPT", 0)] * (i + 1 if i < 60 else 1)), *END]
        table.append((f"body{i}", f"end{i}", f"h{i}", i, False))
    return assembled(lines, table, stack=2 * n + 10)


def one_handler_for_all(n: int) -> CodeType:
    """Many ranges of the exception table that lead to one handler, which begins in the middle of them."""
    lines, table = list(START), []
    for i in range(n):
        lines += [label(f"b{i}"), *effect(), label(f"e{i}"), *effect()]
        table.append((f"b{i}", f"e{i}", "h", 0, False))
    lines += [*END, label("h"), ("PUSH_EXC_INFO", 0), ("POP_TOP", 0), ("POP_EXCEPT", 0), *END]
    return assembled(lines, table)


def handlers_into_the_middle(n: int) -> CodeType:
    """Handlers that continue inside the region of the one before."""
    lines, table = list(START), []
    for i in range(n):
        lines += [label(f"b{i}"), *effect(), label(f"m{i}"), *effect(), label(f"e{i}")]
        table.append((f"b{i}", f"e{i}", f"h{i}", 0, False))
    lines += END
    for i in range(n):
        lines += [label(f"h{i}"), ("PUSH_EXC_INFO", 0), ("POP_TOP", 0), ("POP_EXCEPT", 0)]
        lines.append(("JUMP_BACKWARD", f"m{(i * 7 + 3) % n}"))
    return assembled(lines, table)


def shared_code(n: int) -> CodeType:
    """Functions inside each other, each made from one code object in two places."""
    inner = compile("def f(a): return a", "f", "exec").co_consts[0]
    outer = compile("def f(a):\n def f(a): return a\n def f(a): return 1 + a\n return f", "f", "exec").co_consts[0]
    for _ in range(n):
        inner = outer.replace(
            co_consts=tuple(inner if isinstance(const, CodeType) else const for const in outer.co_consts)
        )
    return inner


def shared_loads(n: int) -> CodeType:
    """Functions inside each other, each made from the same constant in three places."""
    inner = compile("def f(a): return a", "f", "exec").co_consts[0]
    made: List[Line] = [("LOAD_CONST", 0), ("MAKE_FUNCTION", 0), ("POP_TOP", 0)]
    for _ in range(n):
        inner = assembled([*START, *made, *made, *made, *END], co_consts=(inner,))
    return inner


def wide_unpack(n: int) -> CodeType:
    """Values that are unpacked and never taken, in each of a few instructions."""
    lines = list(START)
    for i in range(n):
        lines += [*test(f"s{i}"), ("LOAD_FAST", 0), ("UNPACK_SEQUENCE", 2 * n), ("RAISE_VARARGS", 1), label(f"s{i}")]
    return assembled([*lines, *END], stack=3 * n)


def unpack_upon_unpack(n: int) -> CodeType:
    """Values that are unpacked again and again, so that the stack grows by as many as there are instructions."""
    lines = [*START, ("LOAD_FAST", 0), *([("UNPACK_SEQUENCE", n)] * n), ("RAISE_VARARGS", 1)]
    return assembled(lines, stack=n * n + 9)


def long_constant(n: int) -> CodeType:
    """One constant of a megabyte, which many instructions load."""
    lines = [*START, *([("LOAD_CONST", 0), ("STORE_FAST", 0)] * n)]
    return assembled([*lines, *END], co_consts=("\n\U0001f600" * 500_000,))


def long_name(n: int) -> CodeType:
    """One name of a megabyte, which many instructions use."""
    lines: List[Line] = [*START]
    for _ in range(n):
        lines += [("LOAD_NAME", 0), ("STORE_FAST", 0)]
    return assembled([*lines, *END], co_names=("a" * 1_000_000,))


def long_tuple(n: int) -> CodeType:
    """One constant with many elements, which many instructions load."""
    lines = [*START, *([("LOAD_CONST", 0), ("STORE_FAST", 0)] * n)]
    return assembled([*lines, *END], co_consts=(tuple(range(200_000)),))


def back_to_a_group_test(n: int) -> CodeType:
    """Tests of the types of `except*` that lead back to each other."""
    lines = [*START, label("b"), *effect(), label("e"), *END, label("h"), ("PUSH_EXC_INFO", 0)]
    lines += [("COPY", 1), ("BUILD_LIST", 0), ("SWAP", 2), label("test")]
    none = next(name for name in ("POP_JUMP_IF_NONE", "POP_JUMP_FORWARD_IF_NONE") if name in NUMBERS)
    lines += [("LOAD_FAST", 0), ("CHECK_EG_MATCH", 0), ("COPY", 1), (none, "no")]
    lines += [*([("POP_TOP", 0)] * 4), ("POP_EXCEPT", 0), *END]
    lines += [label("no"), ("POP_TOP", 0), *([("NOP", 0)] * n), ("JUMP_BACKWARD", "test")]
    return assembled(lines, [("b", "e", "h", 0, False)])


def many_locals(n: int) -> CodeType:
    """As many variables as tests: the state of each place where paths meet has all of them."""
    names = tuple(f"v{i}" for i in range(n))
    lines = list(START)
    for i in range(n):
        lines += [("LOAD_FAST", 0), ("UNARY_NEGATIVE", 0), ("STORE_FAST", i), *test(f"s{i}"), *effect(), label(f"s{i}")]
    # Jumps that no statement makes, so that the text has other code and a proof is needed.
    lines += [*test("skip"), ("JUMP_BACKWARD", "s1"), label("skip")]
    return assembled([*lines, *END], co_varnames=names, co_nlocals=n)


def deep_stack(n: int) -> CodeType:
    """A stack of so many values, copied and swapped, that are stored at the end."""
    lines = [*START, *([("LOAD_FAST", 0)] * n)]
    lines += [("SWAP", 1 + i % n) for i in range(1, n)] + [("COPY", 1 + i % n) for i in range(n)]
    lines += [("POP_TOP", 0)] * (2 * n - 1)
    return assembled([*lines, ("RETURN_VALUE", 0)], stack=2 * n + 10)


def loop_of_copies(n: int) -> CodeType:
    """A loop that moves values between many variables, so that states meet again and again."""
    names = tuple(f"v{i}" for i in range(n))
    lines = list(START)
    for i in range(n):
        lines += [("LOAD_FAST", 0), ("STORE_FAST", i)]
    lines += [label("head"), *test("out")]
    for i in range(n):
        lines += [("LOAD_FAST", (i + 1) % n), ("STORE_FAST", i), *test(f"s{i}"), *effect(), label(f"s{i}")]
    lines += [("JUMP_BACKWARD", "head"), label("out"), *END]
    return assembled(lines, co_varnames=names, co_nlocals=n)


def growing_tuple(n: int) -> CodeType:
    """Tuples of tuples in a loop of tests: as a value, each is twice the one before."""
    lines = [*START]
    for _ in range(n):
        lines += [("LOAD_FAST", 0), ("LOAD_FAST", 0), ("BUILD_TUPLE", 2), ("STORE_FAST", 0)]
    return assembled([*lines, *END])


def growing_tuple_tests(n: int) -> CodeType:
    """The same, with paths that meet in between."""
    lines = [*START]
    for i in range(n):
        lines += [*test(f"s{i}"), ("LOAD_FAST", 0), ("LOAD_FAST", 0), ("BUILD_TUPLE", 2), ("STORE_FAST", 0)]
        lines += [label(f"s{i}")]
    return assembled([*lines, *END])


ASSEMBLED: Dict[str, Tuple[int, Callable[[int], CodeType]]] = {
    "ladder": (3000, ladder),
    "tangle": (1000, tangle),
    "tangle without effects": (1000, lambda n: tangle(n, False)),
    "loops inside": (1500, loops_inside),
    "back to all": (1500, back_to_all),
    "jumps only": (3000, jumps_only),
    "handlers inside": (2000, handlers_inside),
    "handlers deeper": (1000, handlers_deeper),
    "one handler for all": (2000, one_handler_for_all),
    "handlers into the middle": (2000, handlers_into_the_middle),
    "shared code": (40, shared_code),
    "shared loads": (40, shared_loads),
    "wide unpack": (1000, wide_unpack),
    "unpack upon unpack": (3000, unpack_upon_unpack),
    "long constant": (4000, long_constant),
    "long name": (4000, long_name),
    "long tuple": (4000, long_tuple),
    "back to a group test": (100, back_to_a_group_test),
    "many locals": (2000, many_locals),
    "deep stack": (4000, deep_stack),
    "loop of copies": (400, loop_of_copies),
    "growing tuple": (4000, growing_tuple),
    "growing tuple, tests": (400, growing_tuple_tests),
}


# ---------------------------------------------------------------- sources


def body(*lines: str) -> str:
    return "def f(a, b, c, x):\n" + "".join(f" {line}\n" for line in lines)


def each(text: str, n: int) -> List[str]:
    return [line for i in range(n) for line in text.replace("#", str(i)).split("\n")]


def row(text: str, n: int, separator: str = ", ") -> str:
    return separator.join([text.replace("#", str(i)) for i in range(n)])


def nested(heads: Sequence[str], last: str, n: int) -> List[str]:
    return [" " * i + heads[i % len(heads)] for i in range(n)] + [" " * n + last]


SOURCES: Dict[str, Tuple[int, Callable[[int], str]]] = {
    "trys": (1500, lambda n: body(*each("try:\n a(#)\nexcept E as e:\n b()\nfinally:\n c()", n))),
    "excepts of one try": (1500, lambda n: body("try: a()", *each("except E#:\n b(#)", n))),
    "returns in finally": (500, lambda n: body("try:", *each(" if a(#): return b(#)", n), "finally:", " c()")),
    "loop with trys": (
        600,
        lambda n: body("for x in a:", *each(" try:\n  b(#)\n except E:\n  continue\n except G:\n  break", n)),
    ),
    "finally inside finally": (6, lambda n: body(*nested_finally(n))),
    "withs": (1500, lambda n: body(*each("with a(#) as x:\n if b: return c", n))),
    "comparison chain": (3000, lambda n: body("return " + row("a#", n, " < "))),
    "comparison chains tested": (800, lambda n: body(*each("if a < b(#) < c is not None: x(#)", n))),
    "conditional chain": (90, lambda n: body("return " + row("b if a else (", n, "") + "c" + ")" * n)),
    "and-or nest": (90, lambda n: body("return " + row("a# and (b# or (", n // 2, "") + "c" + "))" * (n // 2))),
    "and-or test": (90, lambda n: body("if " + row("a# and (b# or (", n // 2, "") + "c" + "))" * (n // 2) + ": x()")),
    "ifs with and": (1500, lambda n: body(*each("if a(#) and b or c: x(#)", n))),
    "whiles": (1500, lambda n: body(*each("while a(#):\n if b: continue\n if c: break\n x(#)", n))),
    "breaks": (1500, lambda n: body("while True:", *each(" if a(#): break", n))),
    "continues": (1500, lambda n: body("while a:", *each(" if a(#): continue", n))),
    "loops inside (source)": (18, lambda n: body(*nested(["for x in a:", "while b:"], "c()", n))),
    "ifs inside": (90, lambda n: body(*nested(["if a:", "if b:"], "c()", n))),
    "cells": (4000, lambda n: body(*each("v# = a", n), "def g():", " return (" + row("v#", n) + ")", "return g")),
    "functions over cells": (1500, lambda n: body(*each("v# = a\ndef g#(): return v#", n))),
    "constants": (65000, lambda n: body("return [" + row("a[#.5]", n) + "]")),
    "constant tuple": (200000, lambda n: body("return (" + row("#.5", n) + ")")),
    "names": (20000, lambda n: body("return [" + row("g#", n) + "]")),
    "cases": (1000, lambda n: body("match a:", *each(" case #:\n  b(#)", n))),
    "cases of classes": (600, lambda n: body("match a:", *each(" case K#(x, y=[#, *_]) if b:\n  b(x)", n))),
    "alternatives": (1500, lambda n: body("match a:", f" case {row('#', n, ' | ')}: b()", " case _: c()")),
    "one large pattern": (150, lambda n: body("match a:", f" case [{row('v#', n)}]: b()")),
    "one large mapping": (150, lambda n: body("match a:", f" case {{{row('#: w#', n)}}}: c()")),
    "arguments": (5000, lambda n: body("return a(" + row("b(#)", n) + ")")),
    "keywords": (3000, lambda n: body("return a(" + row("k#=b", n) + ")")),
    "f-string": (3000, lambda n: body("return f'" + row("{a#}x", n, "") + "'")),
    "targets": (1500, lambda n: body(row("v#", n, " = ") + " = a()")),
    "unpacked": (1500, lambda n: body(row("v#", n) + " = a()")),
    "swapped": (1500, lambda n: body(row("v#", n) + " = " + row("a#()", n))),
    "dict display": (10000, lambda n: body("return {" + row("a[#]: b", n) + "}")),
    "sum": (3000, lambda n: body("return " + row("a#", n, " + "))),
    "calls in a row": (900, lambda n: body("return a" + ".b()" * n)),
    "lambdas": (2000, lambda n: body("return [" + ", ".join("lambda: a" for i in range(n)) + "]")),
    "comprehensions": (600, lambda n: body(*each("x = [b for b in a(#) if b if c]", n))),
    "comprehension inside": (15, lambda n: body("return " + "[" * n + "x" + row(" for v# in a]", n, ""))),
    "decorators": (1500, lambda n: body(*each("@a(#)", n), "def g(): pass")),
    "class methods": (1500, lambda n: body("class K:", *each(" def m#(self): return a", n))),
    "imports": (1500, lambda n: body(*each("import p#.q#.r# as s#\nfrom t# import u#", n))),
    "yields": (1500, lambda n: body(*each("x = yield a(#)", n))),
    "awaits": (1500, lambda n: "async " + body(*each("x = await a(#)", n))),
    "async withs": (600, lambda n: "async " + body(*each("async with a(#) as x: await b(x)", n))),
    "async fors": (600, lambda n: "async " + body(*each("async for x in a(#): await b(x)", n))),
    "asserts": (1500, lambda n: body(*each("assert a(#), b", n))),
    "dead code": (1500, lambda n: body(*each("if 0:\n b(#)\n def g#(): return x", n), "return a")),
    "walruses": (1500, lambda n: body(*each("if (v# := a(#)) and v#: b(v#)", n))),
    "except stars": (600, lambda n: body(*each("try:\n a(#)\nexcept* E as e:\n b()", n))),
    "deletions": (1500, lambda n: body(*each("v# = a\ndel v#", n))),
    "functions inside": (50, lambda n: body(*nested(["def g(a):"], "return a", n))),
}  # fmt: skip


def nested_finally(n: int) -> List[str]:
    """Return `finally` bodies inside each other: the compiler copies each one for every way out."""
    lines = ["a()"]
    for i in range(n):
        lines = [
            "try:",
            f" if a({i}): return b",
            *[f" {line}" for line in lines],
            "finally:",
            *[f" {line}" for line in lines],
        ]
    return lines


def function_of(source: str) -> CodeType:
    found = [const for const in compile(source, "hostile", "exec").co_consts if isinstance(const, CodeType)]
    return found[0]


def shapes() -> Iterator[Tuple[str, int, Callable[[int], CodeType]]]:
    for name, (size, make) in ASSEMBLED.items():
        yield name, size, make
    for name, (size, text) in SOURCES.items():
        yield name, size, lambda n, text=text: function_of(text(n))


# ---------------------------------------------------------------- runs


def measured(make: Callable[[int], CodeType], n: int, seconds: float, megabytes: int) -> Tuple[str, float, float, int]:
    """Decompile in a child process; return the outcome, CPU seconds, megabytes and instructions."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        try:
            code = make(n)
            size = len(code.co_code) // 2
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 5, int(seconds) + 5))
            begin = time.process_time()
            try:
                result = decompile_frame(code)
                outcome = (
                    f"{result.verdict.grade.name} by {result.rung} {'BUG ' + result.bugs[0] if result.bugs else ''}"
                )
                outcome += "" if result.proved else str(result.verdict.reason or result.verdict)[:90]
                outcome += f" ({len(result.source) // 1000} kB)"
            except BaseException as error:
                outcome = f"FAILS: {type(error).__name__}: {error}"[:150]
            spent = time.process_time() - begin
            more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            os.write(write, marshal.dumps((outcome, spent, more, size)))
        except BaseException as error:
            os.write(write, marshal.dumps((f"not made: {type(error).__name__}: {error}"[:150], 0.0, 0.0, 0)))
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    if data:
        found: Tuple[str, float, float, int] = marshal.loads(data)
        return found
    what = "HANGS" if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL) else "CRASHES"
    return f"{what}: status {status}", seconds, 0.0, 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="only shapes whose name contains this")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the size of every shape")
    parser.add_argument("--seconds", type=float, default=60, help="CPU seconds of one shape")
    parser.add_argument("--megabytes", type=int, default=1000, help="memory of one shape")
    options = parser.parse_args()
    failed = 0
    for name, full, make in shapes():
        if options.only not in name:
            continue
        row = []
        for part in (4, 2, 1):
            size = max(2, int(full * options.scale / part))
            outcome, spent, memory, count = measured(make, size, options.seconds, options.megabytes)
            row.append(f"{spent:7.2f} s {memory:4.0f} MB")
            if outcome.startswith(("FAILS", "HANGS", "CRASHES")) or "BUG" in outcome:
                failed += 1
                break
        print(
            f"{name:26} {count:7}: {' '.join(row)}  {1e6 * spent / max(1, count):6.0f} us each, {outcome}", flush=True
        )
    print(f"{failed} failed, Python {sys.version.split()[0]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
