"""The ladder: the first rung whose text is proved is the one that is shown.

What one rung does is in `attempt/`: it takes the code object through the stages, from `decode` to `prove`.
"""

from __future__ import annotations

from dataclasses import replace
from types import CodeType, FunctionType, MappingProxyType
from typing import Dict, Iterator, Mapping, Optional, Tuple

from depyf.code_generator import COMPILER, CodeGenerator
from depyf.decompiler.attempt import IDIOMS, Attempt, Decompilation, Request, Rung
from depyf.decompiler.attempt.failures import Failures
from depyf.decompiler.attempt.nested_listings import listed_inside
from depyf.decompiler.attempt.unused_namesakes import named_apart
from depyf.decompiler.build import temporaries
from depyf.decompiler.bytecode.budget import WrittenTooOften
from depyf.decompiler.bytecode.code_objects import CODE_TYPES, facts_of
from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.bytecode.nested_code import is_part_of_statement, too_nested, with_nested
from depyf.decompiler.bytecode.unstructured import Unstructured
from depyf.decompiler.decode import decode, problem
from depyf.decompiler.printer.listing import annotated_disassembly
from depyf.decompiler.prove import TOO_MUCH_WORK, Grade, Verdict
from depyf.decompiler.recompile import CannotRecompile, Compiler, running_compiler
from depyf.decompiler.syntax.literals import Unspellable
from depyf.signal_handler_errors import is_from_signal_handler

RUNGS = (
    IDIOMS,
    Rung("idioms", True, False),
    Rung("statements", False, True),
    Rung("statements", False, False),
    Rung("statements", True, True, flags=True),
    Rung("state machine", True, True, True),
    Rung("state machine", True, False, True),
    Rung("state machine", False, True, True),
)
# After all others: functions inside that no rung has a proved text for are shown as instructions, and keep their code.
WITH_LISTINGS = Rung("listings inside", True, True)
WITH_TEMPORARIES = Rung("temporaries", True, True, names_values=True)  # before all others, if it is asked for

OUT_OF_MEMORY = "too large for the memory"
EXPECTED = (Unstructured, Unspellable, CannotRecompile, SyntaxError)  # what a stage raises that has no form for a code


def decompile_frame(
    code: CodeType,
    *,
    reference: Optional[CodeType] = None,
    filename: str = "<depyf>",
    renames: Mapping[str, str] = MappingProxyType({}),
    hints: Mapping[str, Tuple[str, ...]] = MappingProxyType({}),
    generator: CodeGenerator = COMPILER,
    function: Optional[FunctionType] = None,
    stands_alone: bool = False,
    compiler: Optional[Compiler] = running_compiler,
) -> Decompilation:
    """Return source text for a code object with the verdict on it: proved equal to the code, or not.

    `reference`: the code that `code` was made from; locals that it does not have are the generator's own.
    `renames`: global name in the code -> name to show. `hints`: global name of a function -> its parameters.
    `generator`: what made the code, if that was not CPython's compiler.
    `function`: the function whose code this is; its default values and annotations are shown.
    `stands_alone`: the text will be run as it is, so a method that calls `super()` gets a function around it.
    `compiler`: of the Python that the code belongs to; without one, the first text is returned, unproved.
    """
    why = too_nested(code)
    if why is not None:
        return _listed(code, renames, why)
    code = named_apart(code)
    request = Request(code, generator, reference, filename, renames, hints, function, stands_alone)
    if compiler is None:
        return _unchecked(request)
    request = replace(request, compiler=compiler)
    failures = Failures()
    worst: Optional[Verdict] = None
    large = 0  # texts whose proof was too much work
    inside = Inside(request)
    for rung, is_mixed in _ladder(code, bool(request.own_locals)):
        if inside.is_unproved and rung is not WITH_LISTINGS:
            continue
        try:
            result = _attempt(request, rung, inside if is_mixed else None)
        except Malformed as error:
            failures.add(rung.name, f"not well formed: {error}")
            if problem(code) is not None:  # not only of a function inside, which other rungs may show as it is
                break
            continue
        except EXPECTED as error:
            failures.add(rung.name, error)
            if isinstance(error, WrittenTooOften):
                break
            continue
        except (RecursionError, MemoryError) as error:
            what = "nested too deeply" if isinstance(error, RecursionError) else OUT_OF_MEMORY
            failures.add(rung.name, what)
            continue
        except Exception as error:
            if is_from_signal_handler(error):
                raise
            failures.add_bug(rung.name, error, code.co_name)
            continue
        if result.proved:
            return replace(result, bugs=failures.bugs)
        worst = result.verdict
        failures.add(rung.name, result.verdict)
        large += result.verdict.reason.endswith(TOO_MUCH_WORK)
        if large > 1:
            break  # it would be for any other text, too
    text, lines = annotated_disassembly(code, renames, f"no text was proved to equal it ({failures.reason})")
    verdict = worst if worst is not None else Verdict(Grade.UNPROVED, reason=failures.reason)
    return Decompilation(text, None, verdict, "disassembly", lines, failures.bugs)


def _listed(code: CodeType, renames: Mapping[str, str], reason: str) -> Decompilation:
    """Return the instructions of a code object for which no rung is tried."""
    text, lines = annotated_disassembly(code, renames, f"no text was proved to equal it ({reason})")
    return Decompilation(text, None, Verdict(Grade.UNPROVED, reason=reason), "disassembly", lines)


def _unchecked(request: Request) -> Decompilation:
    """Return the first text that there is, of code of a Python that is not at hand, or else its instructions."""
    version = facts_of(request.code).version
    why = f"no Python {version[0]}.{version[1]} to check it with"
    failures = Failures()
    for rung in RUNGS:
        try:
            _verify_inside(request.code)
            return Attempt(request, rung).unchecked(why)
        except (Malformed, RecursionError, MemoryError, *EXPECTED) as error:
            failures.add(rung.name, error)
        except Exception as error:
            if is_from_signal_handler(error):
                raise
            failures.add_bug(rung.name, error, request.code.co_name)
    return replace(_listed(request.code, request.renames, failures.reason), bugs=failures.bugs)


def _ladder(code: CodeType, has_own_locals: bool) -> Iterator[Tuple[Rung, bool]]:
    """Yield the rungs to try, and whether each code object inside takes the rung that suits it."""
    has_code_inside = any(isinstance(const, CODE_TYPES) for const in code.co_consts)
    if temporaries.are_wanted():
        yield WITH_TEMPORARIES, False
    for rung in RUNGS:
        if rung.drops_locals or has_own_locals:
            yield rung, False
        if rung is IDIOMS and has_code_inside:
            yield rung, True
    if has_code_inside:
        yield WITH_LISTINGS, True


def _attempt(request: Request, rung: Rung, inside: Optional[Inside]) -> Decompilation:
    """Try one rung; with `inside`, each code object inside takes the rung that suits it."""
    if inside is None and rung is IDIOMS:
        return _unverified_attempt(request)
    if inside is None:
        return Attempt(request, rung).run()
    inner = inside.rungs()
    if rung is WITH_LISTINGS:
        return Attempt(request, rung, inner, listed_inside(request.code, inner, request.renames)).run()
    result = Attempt(request, rung, inner).run()
    return replace(result, rung=max((rung, *inner.values()), key=RUNGS.index).name)  # the least pretty one in the text


def _unverified_attempt(request: Request) -> Decompilation:
    """Try the first rung before the code is verified: most texts compile to the very same code, which is proof enough.

    If there is any other result, the code is verified after all, and Malformed is raised if it is not well formed.
    Code with locals of its generator's own is verified at once: no text compiles to the very same.
    """
    try:
        result = Attempt(request, IDIOMS, verifies=bool(request.own_locals)).run()
    except Exception as error:
        if not is_from_signal_handler(error):
            _verify_inside(request.code)
        raise
    if not result.proved:
        _verify_inside(request.code)
    return result


def _verify_inside(code: CodeType) -> None:
    """Raise Malformed if a code object, or one inside it, is not well formed."""
    for current in with_nested(code):
        try:
            decode(current)
        except Malformed:
            raise
        except ValueError:
            pass  # an opcode without a translation


class Inside:
    """The code objects inside one, and the first rung that is proved for each, found once.

    So one function that needs another rung does not decide how its whole module is written, and one that has no proved
    text does not cost as many attempts as there are rungs at every level around it.
    """

    def __init__(self, request: Request) -> None:
        self.code = request.code
        self.request = request
        self.found: Optional[Dict[CodeType, Rung]] = None

    def rungs(self) -> Dict[CodeType, Rung]:
        """Return the first rung that is proved for each code object inside."""
        if self.found is None:
            self.found = _rungs_inside(self.code, self.request)
        return self.found

    @property
    def is_unproved(self) -> bool:
        """Whether a function or class inside is known to have no proved text, so that neither has this one."""
        return self.found is not None and not _are_proved_inside(self.code, self.found)


def _are_proved_inside(code: CodeType, found: Dict[CodeType, Rung]) -> bool:
    """Return whether all functions and classes right inside a code object are proved."""
    inside = [const for const in code.co_consts if isinstance(const, CODE_TYPES)]
    return all(inner in found for inner in inside if not is_part_of_statement(inner))


def _rungs_inside(code: CodeType, request: Request) -> Dict[CodeType, Rung]:
    found: Dict[CodeType, Rung] = {}
    for inner in code.co_consts:
        if not isinstance(inner, CODE_TYPES):
            continue
        found.update(_rungs_inside(inner, request))
        own = Request(inner, request.generator, compiler=request.compiler)
        for rung in RUNGS if _are_proved_inside(inner, found) else ():
            try:
                if rung.drops_locals and Attempt(own, rung, found).run().proved:
                    found[inner] = rung
                    break
            except WrittenTooOften:
                break
            except Exception as error:  # the next rung is tried; what fails everywhere is reported for the whole
                if is_from_signal_handler(error):
                    raise
    return found
