"""What Dynamo, or the decompiler, writes into frames, and what it is for: explained where it occurs."""

from __future__ import annotations

import re

AT_THE_BREAK = "a value that had no name at the graph break, such as what the call there returned"

# (what shows that it occurs, its explanation); `_OCCURS` has the signs that are patterns, each behind a quick test.
_TERMS = (
    ("record_pregraph_bytecode_enter", "record_pregraph_bytecode_enter/exit: torch times the lines before the graph"),
    ("__import_", "__import_<a>_dot_<b>: the module a.b, as a global that Dynamo installed"),
    ("___module_", "___module_<name>_<n>: the module of that name, as a global that Dynamo installed"),
    (".call_size", "call_size(x, i): x.size(i), handed to a graph that takes sizes as they come"),
    (".call_stride", "call_stride(x, i): x.stride(i), likewise"),
    (".dict_getitem", "dict_getitem(d, k): d[k] as a plain dict has it; dict_keys_getitem(d, i): the i-th of its keys"),
    (
        ".object_setattr_ignore_descriptor",
        "object_setattr_ignore_descriptor(x, 'a', v): x.a = v, here after the graph; the original may do it earlier",
    ),
    ("__resume_at_", "__resume_at_<offset>_<n>: the rest of a function, from that offset of its bytecode on"),
    (
        "([], []",
        "[], [] handed to it (__nested_...): for graph breaks inside inlined functions; empty, as there was none",
    ),
    (
        "__comprehension_",
        "__comprehension_<function>_at_<line>_<n>: the comprehension of that line; it runs uncompiled",
    ),
    ("PyCodegen.pop_null", "PyCodegen.pop_null's lambda, called: takes an empty entry off the interpreter's stack"),
    ("_create_nested_fn", "_create_nested_fn(body, globals, name, defaults, closure, ...): makes an inner function"),
    (".__closure__", "(lambda: x).__closure__: the variable x itself, which closures share, not its value"),
    (
        "__resume_at_ of a closure",
        "__resume_at_...(closure)(...): the rest of a function that shares such variables. The first call makes it, the"
        " second calls it: the parameters of __resume_at_... below are those of the second",
    ),
    (
        "def __enclosing_scope_of_",
        "__enclosing_scope_of_<f>(x, ...): the function around f, for the variables that f shares with it (nonlocal)",
    ),
    (
        "raise None",
        "while True: with m: ... break: the rest of a `with` in which the graph broke; `break` leads to what comes"
        " after it. raise None is Dynamo's, and runs only if m swallows an exception",
    ),
    ("x = x", "x = x: Dynamo stores a variable that closures share once more, as it is"),
    ("name: ...", "<name>: ...: a variable that functions inside the original share, which has no value in this code"),
    (
        "def __guard_of_",
        "__guard_of_0_2_for_<f>: the guards that versions share, here those of __transformed_code_0 and _2; of_all: "
        "that all share",
    ),
    ("  # after ", "# after <file>:<line> behind a call: it continues with what follows that line of yours"),
    ("___stack0", f"___stack<i>: {AT_THE_BREAK}"),
)
_OCCURS = {
    "([], []": ("[]", re.compile(r"\((?:  #.*)?\s*\[\],\s*\[\]")),
    "name: ...": (": ...", re.compile(r"^ +[^\W\d]\w*: \.\.\.$", re.MULTILINE)),
    "  # after ": ("__resume_at_", re.compile(r"__resume_at_.*  # after [^:\n]+:\d+")),
    "x = x": (".__closure__", re.compile(r"^ *(?P<name>[^\W\d]\w*) = (?P=name)(?:  #.*)?$", re.MULTILINE)),
    "__resume_at_ of a closure": (
        ".__closure__",
        re.compile(r"\b__resume_at_\w+\(\(lambda: .*\)\.__closure__\)"),
    ),
}


def terms_used(text: str) -> list[str]:
    """Return the explanations that a reader of this code may need; none where nothing of the kind occurs."""
    found = [f"  {meaning}" for sign, meaning in _TERMS if _occurs(sign, text)]
    return ["Words in the code that Dynamo or depyf put there:", *found] if found else []


def _occurs(sign: str, text: str) -> bool:
    if sign not in _OCCURS:
        return sign in text
    needed, pattern = _OCCURS[sign]
    return needed in text and pattern.search(text) is not None
