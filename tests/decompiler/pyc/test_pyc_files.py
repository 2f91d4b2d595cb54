"""`.pyc` files that nobody vouches for: read as `marshal` reads whole ones, refused in one line when damaged."""

from __future__ import annotations

import importlib.util
import marshal
import random
import struct
import sys
import textwrap
import types
from opcode import opmap

import pytest

from depyf.decompiler.pyc import CodeRecord, DamagedFile, OtherVersion, read_code, read_record
from depyf.decompiler.pyc.file_header import MAGIC_NUMBERS
from depyf.decompiler.pyc.object_stream import DEEPEST, ObjectStream

HEADER = importlib.util.MAGIC_NUMBER + bytes(12)
RUNNING = sys.version_info[:2]
SOURCE = textwrap.dedent(
    '''
    """Every kind of constant."""
    numbers = 0, -1, 1 << 20, -(1 << 40), 1 << 4000, 0.5, -0.0, 1e309, 2j, True, None, ...
    texts = "ascii", "\\u00e9", "\\ud800", b"bytes", "x" * 300, ("nested", ("deeper", (1,)))

    def f(a, /, b, *args, c=1, **keywords):
        x = {"first", "second", "third"} and a in {"red", "green", "blue", "black"}
        def inner():
            return x, a
        return inner, [lambda: y for y in b]

    class C:
        async def method(self):
            async with self as one:
                yield __class__, one
    '''
)
FIELDS = sorted(
    name for name in dir(types.CodeType)
    if name.startswith("co_") and name not in ("co_lnotab", "co_lines", "co_positions", "co_branches", "co_consts")
)  # fmt: skip


def differences(a, b, path: str = "") -> list[str]:
    if type(a) is not type(b):
        return [path]
    if isinstance(a, types.CodeType):
        found = [f"{path}.{name}" for name in FIELDS if getattr(a, name) != getattr(b, name)]
        return found + differences(a.co_consts, b.co_consts, f"{path}:{a.co_name}")
    if isinstance(a, tuple) and len(a) == len(b):
        return [one for x, y in zip(a, b) for one in differences(x, y, path)]
    return [] if repr(a) == repr(b) else [path]  # sets in the same order, too


def pyc(code: object) -> bytes:
    return HEADER + marshal.dumps(code)


def what_is_wrong(data: bytes) -> str:
    with pytest.raises(DamagedFile) as caught:
        read_code(data)
    text = str(caught.value)
    assert "\n" not in text and text.startswith(f"byte {caught.value.at}: ") and 0 <= caught.value.at <= len(data)
    return text


def damaged_object(data: bytes) -> str:
    with pytest.raises(DamagedFile) as caught:
        ObjectStream(data, 0, RUNNING).read()
    return str(caught.value)


# ---------------------------------------------------------------- whole files


def test_a_whole_file_is_read_as_python_reads_it():
    data = pyc(compile(SOURCE, "source.py", "exec"))
    assert differences(read_code(data), marshal.loads(data[16:])) == []


@pytest.mark.parametrize("module", ["ast", "dataclasses", "typing", "asyncio.base_events", "unittest.mock", "email.errors"])
def test_files_of_the_standard_library_are_read_as_python_reads_them(module):
    spec = importlib.util.find_spec(module)
    data = pyc(spec.loader.get_code(module))
    assert differences(read_code(data), marshal.loads(data[16:])) == []


def test_a_record_has_the_fields_that_the_code_has():
    code = compile("def f(a, *b): return lambda: a", "source.py", "exec")
    record = read_record(pyc(code))
    assert isinstance(record, CodeRecord) and (record.version, record.name) == (RUNNING, "<module>")
    (inner,) = [const for const in record.consts if isinstance(const, CodeRecord)]
    assert (inner.varnames, inner.cellvars, inner.argcount, inner.qualname) == (("a", "b"), ("a",), 1, "f")


def three_tuples(version: int) -> bytes:
    """Return a file of 3.8 to 3.10: their order of the fields, written by hand."""
    names = b")\x01Z\x01x"
    body = b"s\x04\x00\x00\x00d\x00S\x00" + b")\x01N" + names + names + b")\x00" + b")\x00"
    fields = struct.pack("<6i", 1, 0, 0, 1, 7, 67) + body + b"Z\x04a.py" + b"Z\x01f"
    return struct.pack("<H", version) + b"\r\n" + bytes(12) + b"c" + fields + struct.pack("<i", 5) + b"s\x00\x00\x00\x00"


@pytest.mark.parametrize("minor", [8, 9, 10])
def test_a_file_of_an_older_python_is_a_record_of_that_version(minor):
    record = read_record(three_tuples(MAGIC_NUMBERS[3, minor][1]))
    assert (record.version, record.filename, record.name, record.qualname) == ((3, minor), "a.py", "f", "f")
    assert (record.argcount, record.stacksize, record.flags, record.firstlineno) == (1, 7, 67, 5)
    assert (record.varnames, record.names, record.consts, record.code) == (("x",), ("x",), (None,), b"d\0S\0")


# ---------------------------------------------------------------- files of other versions


@pytest.mark.parametrize(
    "number, name",
    [(62211, "Python 2.7"), (3379, "Python 3.6"), (3655, "a development version of Python 3.15"),
     (3451, "a development version of Python 3.11"), (2000, "no name for")],
)  # fmt: skip
def test_a_file_of_another_version_names_that_version(number, name):
    with pytest.raises(OtherVersion, match=name):
        read_code(struct.pack("<H", number) + b"\r\n" + bytes(12))


def test_the_magic_number_of_this_python_is_the_one_in_the_table():
    assert MAGIC_NUMBERS[RUNNING][1] == int.from_bytes(importlib.util.MAGIC_NUMBER[:2], "little")


# ---------------------------------------------------------------- damaged files


def test_a_file_that_ends_too_early_is_refused_wherever_it_ends():
    data = pyc(compile("def f(a): return a + 'text' + 1.5", "source.py", "exec"))
    for size in range(len(data)):
        assert "ends" in what_is_wrong(data[:size]) or "left" in what_is_wrong(data[:size])


def test_a_flipped_byte_raises_nothing_but_the_one_error():
    data = pyc(compile(SOURCE, "source.py", "exec"))
    chosen = random.Random(1)
    for _ in range(3000):
        damaged = bytearray(data)
        damaged[chosen.randrange(16, len(data))] = chosen.randrange(256)
        try:
            assert isinstance(read_code(bytes(damaged)), types.CodeType)
        except DamagedFile as error:
            assert "\n" not in str(error)


def test_a_header_that_no_python_writes_is_refused():
    assert "no .pyc file begins with" in what_is_wrong(b"\0" * 32)
    assert "flags that no Python sets" in what_is_wrong(importlib.util.MAGIC_NUMBER + b"\xff" * 12 + b"N")
    assert "holds no code object" in what_is_wrong(HEADER + b"N")


@pytest.mark.parametrize("value", [[], {}, {1}, StopIteration, [[]]])
def test_what_is_no_constant_is_refused(value):
    assert "is no constant of any code" in damaged_object(marshal.dumps(value))


def test_a_count_beyond_the_end_takes_no_memory():
    for kind in b"(>":
        assert "2147483647 items" in damaged_object(bytes([kind]) + b"\xff\xff\xff\x7f")
        assert "-1 items" in damaged_object(bytes([kind]) + b"\xff\xff\xff\xff")
    for kind in b"suaAt":
        assert "2147483647 bytes" in damaged_object(bytes([kind]) + b"\xff\xff\xff\x7f")
    assert "digits" in damaged_object(b"l\xff\xff\xff\x7f")
    assert "digits" in damaged_object(b"l\x00\x00\x00\x80")


def test_a_reference_to_what_was_not_read_is_refused():
    assert "a reference to object 5 of 0" in damaged_object(b"r\x05\0\0\0")
    assert "a reference to object -1 of 0" in damaged_object(b"r\xff\xff\xff\xff")
    assert "of which it is a part" in damaged_object(b"\xa9\x01r\0\0\0\0")  # a tuple that contains itself


def test_nesting_is_refused_before_it_can_exhaust_any_stack():
    assert f"more than {DEEPEST}" in damaged_object(b")\x01" * 100_000 + b"N")
    # Not nested in the file: each tuple holds the one before by a reference.
    links = b"".join(b"\xa9\x01r" + struct.pack("<i", number) for number in range(DEEPEST + 1))
    assert f"more than {DEEPEST}" in damaged_object(b"(" + struct.pack("<i", DEEPEST + 2) + b"\xa9\x00" + links)


def test_references_that_double_what_they_stand_for_are_refused():
    doubled = b"".join(b"\xa9\x02" + 2 * (b"r" + struct.pack("<i", number)) for number in range(60))
    assert "references stand for more" in damaged_object(b"(\x3d\0\0\0" + b"\xa9\x00" + doubled)


def test_a_set_of_many_elements_with_one_hash_is_refused():
    modulus = sys.hash_info.modulus
    colliding = frozenset(range(modulus, 101 * modulus, modulus))
    assert "have one hash" in damaged_object(marshal.dumps(colliding))


def test_text_that_is_not_in_its_encoding_is_refused():
    assert "no UTF-8" in damaged_object(b"u\x01\0\0\0\xff")
    assert "no ASCII" in damaged_object(b"z\x01\xff")


def test_a_field_of_another_type_is_refused():
    data = pyc(compile("x = 1", "source.py", "exec").replace(co_name="replaced"))
    name = data.index(b"replaced") - 2
    assert "must be text, not a number" in what_is_wrong(data[:name] + b"i\0\0\0\0" + data[name + 10 :])


# ---------------------------------------------------------------- code objects that the interpreter would trip over


def with_code(data: bytes, old: bytes, new: bytes) -> bytes:
    assert data.count(old) == 1 and len(old) == len(new)
    return data.replace(old, new)


@pytest.mark.parametrize("opcode", sorted({254, opmap.get("ENTER_EXECUTOR", 255)}))
def test_an_opcode_of_the_interpreters_own_is_refused(opcode):
    """INSTRUMENTED_LINE and ENTER_EXECUTOR make `co_code` follow a null pointer: a crash, before anything runs."""
    code = compile("x = 1", "source.py", "exec")
    data = with_code(pyc(code), code.co_code, bytes([opcode]) + code.co_code[1:])
    assert f"opcode {opcode} at its byte 0" in what_is_wrong(data)


@pytest.mark.skipif(not hasattr(types.CodeType, "co_positions"), reason="there are no inline caches")
def test_an_instruction_whose_caches_are_cut_off_is_refused():
    """`co_code` clears caches, and those that are not there lie past the end of its memory."""
    code = compile("x = y[1]", "source.py", "exec")
    data = with_code(pyc(code), code.co_code, code.co_code[:-2] + bytes([opmap["LOAD_GLOBAL"], 0]))
    assert "last instruction is cut off" in what_is_wrong(data)


def test_a_location_table_that_ends_inside_an_entry_is_refused():
    code = compile("x = y[1]\nz = 1", "source.py", "exec")
    table = "co_linetable" if hasattr(code, "co_linetable") else "co_lnotab"
    whole = getattr(code, table)
    if hasattr(code, "co_positions"):
        data = with_code(pyc(code), whole, whole[:-1] + b"\xf0")
    else:
        data = pyc(code.replace(**{table: whole + b"\0"}))
    assert "location table is malformed" in what_is_wrong(data)


def test_counts_of_parameters_that_no_variables_have_are_refused():
    code = compile("x = 1", "source.py", "exec")
    data = pyc(code)
    start = len(HEADER) + 1
    assert "parameters, and 0 local variables" in what_is_wrong(data[:start] + struct.pack("<i", 3) + data[start + 4 :])
    assert "out of range" in what_is_wrong(data[:start] + struct.pack("<i", -3) + data[start + 4 :])


def test_a_stack_that_no_instructions_can_fill_is_refused():
    """An instruction that unpacks fills the stack, and with it the memory of everything that follows the code."""
    code = compile("x = 1", "source.py", "exec")
    data = pyc(code)
    start = len(HEADER) + 1 + (3 if hasattr(code, "co_exceptiontable") else 4) * 4
    assert "a stack of 1000000 entries" in what_is_wrong(data[:start] + struct.pack("<i", 1_000_000) + data[start + 4 :])
