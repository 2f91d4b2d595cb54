"""Modules and classes that differ in one visible thing must not be proved equal."""

from __future__ import annotations

import sys
import warnings

import pytest

from depyf.decompiler.prove import prove

PAIRS = [
    ("class C(A, B): pass", "class C(B, A): pass"),
    ("class C: pass", "class D: pass"),
    ("class C:\n  x=1", "class C:\n  y=1"),
    ("class C:\n  __qualname__='D'", "class C:\n  __qualname__='E'"),
    ("class C:\n  'doc'", "class C:\n  'dod'"),
    ("'doc'", "'dod'"),
    ("x: int", "x: str"),
    ("x: int = 1", "x = 1"),
    ("x: int", "x"),
    ("@d\nclass C: pass", "class C: pass"),
    ("@d\n@e\ndef f(): pass", "@e\n@d\ndef f(): pass"),
    ("def f(a=1): pass", "def f(a=True): pass"),
    ("def f(*, a=1): pass", "def f(*, b=1): pass"),
    ("def f(a: int): pass", "def f(a: str): pass"),
    ("from __future__ import annotations\ndef f(a: int): pass", "from __future__ import annotations\ndef f(a: str): pass"),
    ("from a import b", "from a import c as b"),
    ("import a.b", "import a"),
    ("import a.b as c", "from a import b as c"),
    ("from . import a", "from .. import a"),
    ("from a import *", "import a"),
    ("x = 1\ny = 2", "y = 2\nx = 1"),
    ("global x\nx = 1", "x = 1"),
    ("del x", "del y"),
    ("class C:\n  def f(self): return super().g", "class C:\n  def f(self): return super(C, self).g"),
    ("class C:\n  __x = 1", "class D:\n  __x = 1"),
    ("class C(metaclass=M): pass", "class C(M): pass"),
    ("class C(**k): pass", "class C(*k): pass"),
    ("x = a = {}", "x = {}\na = {}"),
    ("x = a = {}", "a = x = {}"),
    ("f = lambda: 1", "def f(): return 1"),
    ("if __name__ == 'x': f()", "if __name__ != 'x': f()"),
    ("class C:\n  global x\n  x = 1", "class C:\n  x = 1"),
    ("class C:\n  __firstlineno__ = 1\n", "class C:\n  __firstlineno__ = 2\n"),
    ("x = {1,2,3}", "x = {1,2,4}"),
    ("class C:\n  x: int", "class C:\n  x: int = 0"),
    ("def f():\n  x=1\n  class C:\n    y = x\n  return C", "def f():\n  x=1\n  class C:\n    global x\n    y = x\n  return C"),
    ("try:\n  import a\nexcept ImportError:\n  a = None", "try:\n  import a\nexcept Exception:\n  a = None"),
    ("for i in x:\n  if i: break", "for i in x:\n  if i: continue"),
    ("assert x, y", "assert y, x"),
    ("x = f(*a, **b)", "x = f(*b, **a)"),
    ("f(**{**a})", "f(**a)"),
    ("def f():\n  a=1\n  def g():\n    nonlocal a\n  return g", "def f():\n  a=1\n  def g(): pass\n  return g"),
    ("def f():\n  if 0: yield", "def f(): pass"),
    ("class C:\n  __static_attributes__=('a',)", "class C:\n  __static_attributes__=('b',)"),
    ("m[i:j] += 1", "m[i:j] = m[i:j] + 1"),
    ("m[f()] += 1", "m[f()] = m[f()] + 1"),
]
SINCE_312 = [
    ("def f[T](x): pass", "def f(x): pass"),
    ("def f[T](x): pass", "def f[U](x): pass"),
    ("def f[T: int](x): pass", "def f[T: str](x): pass"),
    ("type X = int", "X = int"),
    ("type X = int", "type X = str"),
    ("class C[T]: pass", "class C: pass"),
    ("class C[T: (int, str)]: pass", "class C[T: (str, int)]: pass"),
    ('def f[T](x: T): pass', "def f[T](x: 'T'): pass"),
    ("def f[*T](x): pass", "def f[**T](x): pass"),
]
SINCE_313 = [
    ("def f[T = int](x): pass", "def f[T](x): pass"),
    ("def f[T = int](x): pass", "def f[T: int](x): pass"),
    ("class C:\n  def f(self): self.a = 1", "class C:\n  def f(self): self.b = 1"),
]
if sys.version_info >= (3, 12):
    PAIRS += SINCE_312
if sys.version_info >= (3, 13):
    PAIRS += SINCE_313


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_modules_that_differ_visibly_are_not_proved_equal(one, other):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        codes = [compile(text, "<module>", "exec", dont_inherit=True) for text in (one, other)]
    assert not prove(*codes).holds
    assert not prove(*reversed(codes)).holds
    assert all(prove(code, code).holds for code in codes)
