"""What a function is besides its instructions is compared too: flags that its code hands on, its docstring."""

from __future__ import annotations

from types import CodeType

from depyf.decompiler.prove import Grade, prove


def _function(source: str) -> CodeType:
    code = compile(source, "<test>", "exec", dont_inherit=True).co_consts[0]
    assert isinstance(code, CodeType)
    return code


def test_code_that_is_compiled_by_a_function_under_another_name_inherits_the_same_flags() -> None:
    source = "def f(make): return make('def g(x: y): pass', '', 'exec')"
    imported = "from __future__ import annotations\n" + source
    module = compile(imported, "<test>", "exec", dont_inherit=True)
    with_annotations = next(const for const in module.co_consts if isinstance(const, CodeType))
    assert prove(_function(source), with_annotations).grade is Grade.REFUTED
    assert prove(with_annotations, with_annotations.replace(co_filename="other")).grade is Grade.PROVED


def test_the_docstring_of_a_function_with_any_name() -> None:
    made = _function("def f():\n    def g():\n        'A'\n    return g\n")
    other = _function("def f():\n    def g():\n        'B'\n    return g\n")

    qualified = {"co_qualname": "<g>"} if hasattr(CodeType, "co_qualname") else {}

    def renamed(code: CodeType) -> CodeType:
        consts = [
            const.replace(co_name="<g>", **qualified) if isinstance(const, CodeType) else const
            for const in code.co_consts
        ]
        return code.replace(co_consts=tuple(consts))

    assert prove(renamed(made), renamed(made)).grade is Grade.PROVED
    assert prove(renamed(made), renamed(other)).grade is Grade.REFUTED
