"""Torch's spelling of the values that guards test, in the user's: `L['a']` is `a`."""

from __future__ import annotations

import ast
import functools
import keyword
import re

from depyf.text.quoted_strings import STRING

# Names that torch gives the helpers of its guards, in the user's spelling.
_HELPERS = {
    "__math_isnan": "math.isnan",
    "__numpy_isnan": "numpy.isnan",
    "___from_numpy": "torch.as_tensor",
    "___as_tensor": "torch.as_tensor",
    "utils_device": "torch.utils._device",
    "device": "torch.device",
    "inf": "math.inf",
}

# A frame with many layers has thousands of guards: one regular expression reads them ten times as fast as `tokenize`.
_TOKEN = re.compile(
    rf"(?P<string>[rRbBuUfF]{{0,2}}{STRING})"
    rf"|(?P<root>[LG])\[(?P<key>{STRING})\](?:\[(?P<second>{STRING})\])?"
    rf"|(?P<kept>\.(?P<dict>__dict__\[')?(?P<where>_modules|_parameters|_buffers)(?(dict)'\])\[(?P<what>{STRING})\])"
    r"|(?P<attribute>\.\s*[^\W\d]\w*)"
    r"|(?P<name>[^\W\d]\w*)(?P<keyword>\s*=(?!=))?"
    r"|\d[\w.]*"
    r"|(?P<open>['\"])"
)
_IMPORT = re.compile(r"\b__import__\('(?P<module>[^\W\d]\w*)'\)")
# torch itself, as a global that Dynamo installs for each version: install_global_by_id("", torch), variables/builtin.py
_TORCH = re.compile(r"_(?:\d{9,}|\.\.\.)_c\d")
_OF_CLASS = re.compile(r"\bdict\(type\((?P<object>[\w.]+)\)\.__dict__\)\['(?P<name>[^\W\d]\w*)'\]")
_VALUE_OF_NTH_KEY = re.compile(
    r"(?P<object>\b\w[\w.]*(?:\[(?:'[^'\\]*'|\d+)\][\w.]*)*)"
    r"\[list\(dict\.keys\((?P=object)\)\)\[(?P<number>\d+)\]\]"
)
_NTH_VALUE = re.compile(
    r"\bdict\.__getitem__\((?P<object>[\w.]+), list\(dict\.keys\((?P=object)\)\)\[(?P<number>\d+)\]\)"
)
# Parts of a list of modules: torch 2.4 and older.
_PART = re.compile(r"\bgetattr\((?P<object>[\w.\[\]]+), '(?P<number>\d+)'\)")
A_SOURCE = re.compile(r"\b[LG]\[")  # where a value of the frame or its module begins


@functools.lru_cache(maxsize=4096)
def readable(expression: str) -> str:
    """Torch's spelling of a value in the user's: `L['a']` is `a`, `G['torch'].abs` is `torch.abs`.

    What a module is made of is spelled as its user does: `L['self']._modules['layers']._modules['0']._parameters['w']`
    is `self.layers[0].w`.  Works on tokens, so that a text constant that reads like a source stays what it is.  Text
    with a constant that does not end is returned as it came.
    """
    if "\n" in expression:
        return expression
    if "__import__(" in expression:  # how torch reaches what it has registered itself
        expression = _IMPORT.sub(r"\g<module>", expression)
    try:
        text = _TOKEN.sub(_reading, expression)
    except _OpenString:
        return expression
    while "getattr(" in text and _PART.search(text) is not None:
        text = _PART.sub(r"\g<object>[\g<number>]", text)
    if "dict" in text:
        text = _OF_CLASS.sub(r"type(\g<object>).\g<name>", text)
        for pattern in (_NTH_VALUE, _VALUE_OF_NTH_KEY):
            text = pattern.sub(r"list(\g<object>.values())[\g<number>]", text)
    return text


class _OpenString(Exception):
    pass


def _reading(token: re.Match[str]) -> str:
    """Spell a token as the user does."""
    kind = token.lastgroup
    if kind == "open":
        raise _OpenString
    if kind == "name":
        name = token["name"]
        return _HELPERS.get(name, name)
    if kind == "kept":
        return _of_module(token)
    if token["root"] is None:
        return token[0]
    second = f"[{token['second']}]" if token["second"] else ""
    key = _value(token["key"])
    if token["root"] == "G" and key.startswith("__builtins_dict__"):
        name = _value(token["second"]) if second else ""
        return f"builtins.{name}" if name.isidentifier() else f"vars(builtins){second}"
    if token["root"] == "G" and key.startswith("___unnamed_scope"):  # globals of code without a module, as of exec
        name = _value(token["second"]) if second else ""
        return name if name.isidentifier() else f"globals(){second}"
    if token["root"] == "G" and _TORCH.match(key) is not None:
        return f"torch{second}"
    if token["root"] == "G" and key.startswith("__import_"):
        return key[len("__import_") :].replace("_dot_", ".") + second
    if key.isidentifier() and not keyword.iskeyword(key):
        return key + second
    return token[0]


def _of_module(token: re.Match[str]) -> str:
    """Spell a part of a module, which guards read from its dictionaries: `self.layers[0].weight`."""
    name = _value(token["what"])
    if name.isidentifier() and not keyword.iskeyword(name):
        return "." + name
    return f"[{name}]" if name.isdecimal() and token["where"] == "_modules" else token[0]


def _value(literal: str) -> str:
    return str(ast.literal_eval(literal)) if "\\" in literal else literal[1:-1]
