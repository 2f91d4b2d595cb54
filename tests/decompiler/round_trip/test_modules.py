"""Whole modules and classes: the text compiles to equal code, and reads as it was written."""

from __future__ import annotations

import textwrap
from types import CodeType

import pytest
from decompile_tools import skip_newer_syntax

from depyf.decompiler.bytecode.python_facts import RUNNING
from depyf.decompiler.pipeline import decompile_frame


def text_of(source: str) -> str:
    """Return the text of a module; assert that it is proved."""
    code = compile(textwrap.dedent(source), "<module>", "exec", dont_inherit=True)
    result = decompile_frame(code)
    assert result.proved, f"{result.verdict}\n{result.source}"
    return result.source


def same(source: str) -> None:
    """Assert that the module comes back as it was written."""
    assert text_of(source).strip() == textwrap.dedent(source).strip()


def test_a_class_keeps_its_bases_keywords_and_decorators():
    same(
        """
        @first
        @second(1, key=2)
        class C(Base, Other[int], metaclass=Meta, option=3):
            pass
        """
    )


def test_bases_that_are_unpacked():
    same(
        """
        class C(A, *bases, **options):
            x = 1
        """
    )


def test_docstrings_of_module_class_and_method_are_kept():
    same(
        '''
        """The module."""


        class C:
            """The class."""

            def method(self):
                """The method."""
        '''
    )


def test_annotations_of_names_in_modules_and_classes():
    same(
        """
        x: int = 1
        y: List[int]


        class C:
            a: str
            b: int = x
        """
    )


def test_annotations_under_the_future_import_are_text_again():
    same(
        """
        from __future__ import annotations
        x: List[int] = []


        def f(a: int | None, *args: str, key: 'quoted' = 1, **more: Any) -> Callable[..., int]:
            pass
        """
    )


def test_a_function_shown_alone_has_future_annotations_as_strings():
    source = "from __future__ import annotations\ndef f():\n    def g(x: int): pass\n    return g\n"
    module = compile(source, "<module>", "exec", dont_inherit=True)
    (code,) = [const for const in module.co_consts if isinstance(const, CodeType)]
    result = decompile_frame(code)
    assert result.proved and "x: 'int'" in result.source
    assert result.code is not None and result.code.co_flags == code.co_flags


def test_variables_of_a_class_in_a_function_have_future_annotations_when_the_class_is_made():
    source = "from __future__ import annotations\ndef f():\n    class A:\n        x: int\n    return A\n"
    module = compile(source, "<module>", "exec", dont_inherit=True)
    (code,) = [const for const in module.co_consts if isinstance(const, CodeType)]
    result = decompile_frame(code)
    assert result.proved and ("x: int" if RUNNING.annotations_are_deferred else "x: 'int'") in result.source


def test_private_names_are_shown_unmangled():
    same(
        """
        class _C:
            __x = 1

            def __method(self, __arg):
                self.__x = __arg
                return self.__method

            class __Inner:
                pass
        """
    )


def test_zero_argument_super_and_the_class_cell():
    same(
        """
        class C(B):
            def __init__(self):
                super().__init__()
                print(__class__)
        """
    )


def test_methods_with_defaults_property_and_setter():
    same(
        """
        class C:
            @property
            def p(self):
                return self.q

            @p.setter
            def p(self, value, /, other=1, *args, key, default=None, **more):
                self.q = value
        """
    )


def test_a_class_in_a_function_over_its_variables():
    same(
        """
        def cmp_to_key(mycmp):
            class K(object):
                __slots__ = ['obj']
                mycmp = mycmp

                def __lt__(self, other):
                    return mycmp(self.obj, other.obj) < 0

            return K
        """
    )


def test_a_class_body_with_nonlocal_and_global():
    same(
        """
        def f():
            x = 1

            class C:
                global y
                nonlocal x
                x = 2
                y = 3
                z = y

            return x
        """
    )


def test_control_flow_at_the_end_of_a_module():
    same(
        """
        for i in values:
            if i:
                break
        else:
            done = 1
        """
    )
    same(
        """
        try:
            import fast
        except ImportError:
            fast = None
        """
    )
    same(
        """
        if a:
            x = 1
        elif b:
            x = 2
        """
    )


def test_control_flow_at_the_end_of_a_class_that_has_a_class_cell():
    same(
        """
        class C:
            def f(self):
                return super().f

            if a:
                g = f
            else:
                h = f
        """
    )


def test_imports_of_all_forms():
    same(
        """
        import a
        import a.b
        import a.b.c as d
        import a as e
        from . import f
        from .. import g as h
        from .i import j, k as l
        from m.n import *
        """
    )


def test_global_at_module_level():
    same(
        '''
        """doc"""
        from __future__ import annotations
        global x
        x = 1
        print(x)
        '''
    )


def test_a_local_class_alone_has_its_qualified_name():
    source = "class A:\n    def f(self):\n        x = 'B'\n        class B:\n            y = x, 'B'\n        return B\n"
    module = compile(source, "<module>", "exec")
    outer = next(const for const in module.co_consts if isinstance(const, CodeType))
    method = next(const for const in outer.co_consts if isinstance(const, CodeType))
    inner = next(const for const in method.co_consts if isinstance(const, CodeType))
    result = decompile_frame(inner)
    assert result.proved, str(result.verdict)
    assert result.source == "class B:\n    y = x, 'B'\n"


def test_sets_iterate_as_in_the_original():
    for module in ("x = {5, 3, 8, 1000003, 'a', 'b', None}", "x = {8, 16, 24, 0, 32}", "x = {32, 0, 24, 16, 8}"):
        text_of(module)


def test_classes_in_methods_have_their_qualified_names():
    source = "class A:\n    def f(self):\n        class B:\n            x = 'f.<locals>.B', 'B'\n        return B\n"
    module = compile(source, "<module>", "exec")
    outer = next(const for const in module.co_consts if isinstance(const, CodeType))
    method = next(const for const in outer.co_consts if isinstance(const, CodeType))
    assert decompile_frame(method).proved


def test_a_class_is_decompiled_with_its_bases():
    import string

    import depyf

    found = depyf.decompile(string.Formatter)
    assert found.startswith("class Formatter:\n") and "    def format(self, format_string, /," in found
    assert depyf.decompile(string).startswith('"""A collection of string constants.')
    with pytest.raises(TypeError, match="the class int"):
        depyf.decompile(int)


@pytest.mark.parametrize(
    "source",
    [
        "a = b = {}\nc.d = e = {1: x}",
        "x = y = f()",
        "def f():\n    global a, b\n    a = b = {'k': v}\n    a = [x]\n",
        "del x, y\ndel z.a, z[0]",
        "if __name__ == '__main__':\n    main()\n",
        "x = [i for i in y if i]\nz = {k: v for k, v in x}",
        "with open(f) as g:\n    x = g.read()",
        "while True:\n    if x:\n        break\n    y()",
        "lambda a, b=1, *c, d=2, **e: a",
        "def f(a, b=1, /, c=2, *, d, e=3): pass",
        "async def f():\n    await x\n",
        "def f():\n    a = 1\n    def g():\n        nonlocal a\n    return g",
        "class A:\n    def f(self):\n        return 1\n        super()",
        "def f():\n    while False:\n        yield None",
        "async def f():\n    if 0: yield",
        "def f():\n    assert False, 'x'",
        "x = f'%s.%s {{' % (a.b, c)\ny = '%s.%s' % (a.b, c.d)\nz = '%d.%s' % (a.b, c.d)",
        "def f(*args, **kwds):\n    return g(*args, **h(kwds))",
        "f(**{**a, 'k': v})\nf(x=1, **{'a': 1, 'b': c})",
        "m[:, -1] -= s\nm[i, :] += 1\nm[f(), g()] += 1\nm[f():j, 1] += 2",
        "def f(m, i, j):\n    m[i:j] += 1\n    m[:] += 2\n    m[g():j] -= 3\n    m[i:j] = 4\n    m[:j] = x = y",
        "def f(x=1+0j, y=-1j, z=(1, 2-3j)): return 1+2j",
        "x.y = {(a.b, None): c.d, (a.e, 1): c.f}",
        "import datetime\nx = [datetime for i in datetime if j]",
        "try:\n    a\nexcept E:\n    try:\n        b\n    except F:\n        x = 1\n    else:\n        x = 2\nelse:\n    x = 3",
        "def f():\n    import a.b as c, d\n    from .e import (g, h as i)\n    return c, d, g, i",
    ],
)
def test_statements_at_module_level(source):
    text_of(source)


@pytest.mark.parametrize("source", ["a + b", "a if b else c", "lambda x: x", "[x for x in y]", "a.b['x'] and c or d"])
def test_code_that_is_evaluated(source):
    result = decompile_frame(compile(source, "<eval>", "eval"))
    assert result.proved and result.source == source + "\n"


@pytest.mark.parametrize("source", ["x\n", "x = 1\n", "None\n", "for i in y:\n    i\n    f(i)\n"])
def test_interactive_code_prints_its_expressions(source):
    result = decompile_frame(compile(source, "<stdin>", "single"))
    text = result.source.split("expressions.\n")[-1]  # below a comment that names the mode
    assert result.proved and text == source


def test_an_annotation_that_is_never_reached_still_makes_the_mapping():
    text_of("if 0:\n    x: int\n")


@pytest.mark.parametrize(
    "source",
    [
        """
        class A:
            def m(self):
                def __helper(x):
                    return x
                class __K: pass
                return __helper, __K, self.__z
        """,
        """
        class A:
            def m(self, __x=1, *, __y=2):
                global __g
                __g = 1
                import __mod
                from q import __name
                for __i in []: pass
                try: pass
                except E as __e: pass
                with a as __w: pass
                lambda __a: __a
                return [__c for __c in __x], f(__kw=1), __y
        """,
        """
        class __A:
            __B = 1
            class __C(__D):
                __E = __B
            def __F(self): return self.__G.__H__
        """,
        """
        class _:
            def m(self): return self.__x
            __y = 1
        """,
        """
        class A:
            x = 1
            y = [x for z in x]
            def f(self, a=x): return lambda b=a: b
            g = lambda self, q=x: q
            if x:
                h = 1
            else:
                def h(self): pass
            for i in range(3):
                exec(i)
            try:
                import z
            except ImportError:
                z = None
            finally:
                del i
            with x as w: pass
        """,
        """
        @a.b(c)[d]
        def f(): pass
        """,
        """
        @(yield_)
        @(lambda f: f)
        class C: pass
        """,
        """
        def f():
            @d
            def g(x: int = y, *a: b, c: d = e, **k: l) -> m:
                nonlocal z
                z = 1
                return z
            z = 2
            return g
        """,
        """
        async def f():
            @(await d)
            async def g(x=await y):
                yield x
            class C(await B):
                z = await_
            return [i async for i in g]
        """,
    ],
)
def test_definitions_with_private_names_decorators_and_parts_of_all_kinds(source):
    skip_newer_syntax(source)
    text_of(source)


@pytest.mark.parametrize("last", ["b = y", "pass", "y()"])
@pytest.mark.parametrize("first", ["1", "None", "A.b", "[a, b]", "x if x"])
@pytest.mark.parametrize("around", ["", "class C:\n"])
def test_a_match_outside_of_functions_that_binds_its_subject_last(around, first, last):
    cases = f"match x:\n    case {first}:\n        a = 1\n    case y:\n        {last}\nz = 1\n"
    skip_newer_syntax(cases)
    same(around + textwrap.indent(cases, "    " if around else ""))


@pytest.mark.parametrize("statement", ["h or a", "h and d or c", "b < c < d"])
def test_an_expression_ends_a_class_or_module(statement):
    same(f"class K:\n    {statement}")
    same(f"if x:\n    {statement}\nelse:\n    y")


def test_globals_that_functions_around_hide_are_declared():
    same("""
        def f():
            z = m

            def inner():
                global z
                return [z for a in b], lambda: z

            class K:
                global z
                z

                def method(self):
                    return z

            return inner, K
    """)


def test_names_of_a_class_that_only_dropped_code_sets():
    same("""
        def f():
            class K:
                if False:
                    z = None
                z

            z = 2
            return K
    """)


def test_a_name_of_ours_hides_no_global_of_a_function_inside():
    source = """
        def f(a, b):
            for x in a:
                a[b()] = a[b()] = (b(), lambda: b_result)
    """
    assert "b_result = " not in text_of(source).replace("lambda: b_result", "")


@pytest.mark.parametrize("level", [1 << 30, -1, True, 1.5])
def test_an_import_whose_level_no_source_has_is_shown_as_instructions(level):
    """As many dots as the constant asks for would fill the memory."""
    code = compile(f"from {300 * '.'} import x", "<module>", "exec", dont_inherit=True)
    changed = code.replace(co_consts=tuple(level if const == 300 else const for const in code.co_consts))
    result = decompile_frame(changed)
    assert not result.proved and len(result.source) < 2000
