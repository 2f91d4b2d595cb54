"""Prove: are two code objects the same program?

`prove(original, recompiled)` runs two symbolic machines side by side (bisimulation.py). It is meant to be
sound: PROVED means that no program can tell the two apart but by looking at the code itself, at line
numbers, or at the time and memory it takes. It is not complete: UNPROVED and REFUTED may be wrong about
codes that are the same.
"""

from __future__ import annotations

from types import CodeType
from typing import Any, Callable, Collection, Dict, FrozenSet, List, Set, Tuple

from depyf.decompiler.analysis.local_name_access import sees_local_names
from depyf.decompiler.bytecode.microops import Program, parameters
from depyf.decompiler.decode import decode
from depyf.decompiler.prove.bisimulation import Bisimulation, Diverged, entry_side
from depyf.decompiler.prove.comprehension_handlers import without_restoring
from depyf.decompiler.prove.large_displays import one_by_one
from depyf.decompiler.prove.machine_state import Pair
from depyf.decompiler.prove.operations import SPECIAL
from depyf.decompiler.prove.plan import make_plan
from depyf.decompiler.prove.signatures import identical, signature_difference
from depyf.decompiler.prove.symbolic_machine import Unsupported
from depyf.decompiler.prove.terms import Terms
from depyf.decompiler.prove.verdict import Assumption, Divergence, Grade, Verdict
from depyf.decompiler.simplify.self_stores import self_stores, without_self_stores

__all__ = ["Assumption", "Divergence", "Grade", "Verdict", "prove"]


def prove(
    a: CodeType,
    b: CodeType,
    *,
    constant_globals: Callable[[str], bool] | None = None,
    own_names: Collection[str] = (),
    own_names_inside: Callable[[CodeType], Collection[str]] | None = None,
    program_a: Program | None = None,
) -> Verdict:
    """Whether `b`, recompiled from our text, is the same program as `a`, the original.

    `constant_globals` tells the names of globals that may be taken to keep their values while the frame
    runs; that is done, and noted as an assumption, only if there is no proof without it. `own_names` are
    locals of `a` that its generator invented: `b` may lack or rename them; `own_names_inside` tells those of
    codes nested in `a`. `program_a` saves decoding `a` again. Never raises for code that it cannot handle:
    the grade is UNPROVED then.
    """
    return _Proof(constant_globals, frozenset(own_names), own_names_inside).verdict(a, b, program_a, nested=False)


class _Proof:
    """The proof of one pair of codes and of those nested in them."""

    def __init__(
        self,
        constant_globals: Callable[[str], bool] | None,
        own_names: FrozenSet[str],
        own_names_inside: Callable[[CodeType], Collection[str]] | None = None,
    ) -> None:
        self.constant_globals = constant_globals
        self.own_names = own_names
        self.own_names_inside = own_names_inside or (lambda code: ())
        self.nested: Dict[Tuple[int, int], Verdict] = {}

    def verdict(self, a: CodeType, b: CodeType, program_a: Program | None, nested: bool) -> Verdict:
        """The verdict on one pair."""
        if a is b or identical(a, b):
            inner = tuple([pair for pair in zip(a.co_consts, b.co_consts) if isinstance(pair[0], CodeType)])
            pairs = tuple([(at, at) for at in range(0, len(a.co_code), 2)])
            return Verdict(Grade.PROVED, pairs=pairs, nested=inner)
        difference = signature_difference(a, b, nested)
        if difference is not None:
            return Verdict(Grade.REFUTED, divergence=Divergence(-1, -1, *difference))
        try:
            program_a, program_b = one_by_one(program_a or decode(a), decode(b))
        except Exception as error:
            return Verdict(Grade.UNPROVED, reason=f"cannot be decoded: {error}")
        return self.compared(program_a, program_b, nested)

    def compared(self, a: Program, b: Program, nested: bool = False) -> Verdict:
        """The verdict on two programs whose signatures are the same."""
        given: Tuple[Assumption, ...] = ()
        if not nested and len(self_stores(a)) > len(self_stores(b)):
            a, b = without_self_stores(a), without_self_stores(b)
            given = (Assumption.SHARED_VARIABLES_BOUND,)
        first = self._attempts(a, b, nested, given)
        bare = None if first.holds or a.handlers else without_restoring(b)
        if bare is None:
            return first
        return self._attempts(a, bare, nested, (*given, Assumption.NOT_SEEN_IN_TRACEBACKS))

    def _attempts(self, a: Program, b: Program, nested: bool, assumed: Tuple[Assumption, ...] = ()) -> Verdict:
        """Without the assumption about globals, and with it if need be and if there are such globals."""
        own_names = frozenset(self.own_names_inside(a.code)) if nested else self.own_names
        # A nested function may run when the frame, and with it the assumption, is long gone.
        constant = None if nested else self.constant_globals
        if constant is None or not any(constant(name) for name in a.code.co_names):
            return self._attempt(a, b, own_names, None, assumed)
        under = (*assumed, Assumption.INSTALLED_GLOBALS_CONSTANT)
        tries = [(None, assumed), (constant, under)]
        if _reads_in_another_order(a, b):  # no use in trying without
            tries.reverse()
        for constant_now, assumed_now in tries:
            found = self._attempt(a, b, own_names, constant_now, assumed_now)
            if found.holds:
                return found
            if constant_now is not None:
                telling = found  # under the assumption it came further: that is what to tell of
        return telling

    def _attempt(
        self,
        a: Program,
        b: Program,
        own_names: FrozenSet[str],
        constant: Callable[[str], bool] | None,
        given: Tuple[Assumption, ...],
    ) -> Verdict:
        terms = Terms()
        assumed: Set[Assumption] = set(given)
        same: List[Tuple[CodeType, CodeType]] = []

        def same_code(x: int, y: int) -> bool:
            inner = self._nested_verdict(terms.data[x], terms.data[y])
            assumed.update(inner.assumptions)
            if not inner.holds:
                raise _NestedDiffers(terms.data[x].co_name, inner)
            same.append((terms.data[x], terms.data[y]))
            return True

        try:
            simulation = _simulation(a, b, terms, own_names, constant, same_code)
            names = parameters(a.code)
            simulation.run(Pair(entry_side(terms, names), entry_side(terms, names)))
        except Diverged as found:
            return Verdict(Grade.REFUTED, divergence=found.divergence)
        except _NestedDiffers as found:
            return found.verdict
        except Unsupported as reason:
            return Verdict(Grade.UNPROVED, reason=str(reason))
        except (LookupError, ValueError, AssertionError, RecursionError) as error:
            # Instructions in an order that no machine could run; a proof must not fail loudly for that.
            return Verdict(Grade.UNPROVED, reason=f"cannot be followed: {error!r}")
        assumed |= simulation.assumed
        assumptions = tuple([assumption for assumption in Assumption if assumption in assumed])
        grade = Grade.PROVED_UNDER if assumptions else Grade.PROVED
        return Verdict(grade, assumptions, pairs=tuple(sorted(simulation.matched)), nested=tuple(same))

    def _nested_verdict(self, a: CodeType, b: CodeType) -> Verdict:
        key = (id(a), id(b))
        known = self.nested.get(key)
        if known is None:
            known = self.nested[key] = self.verdict(a, b, None, nested=True)
        return known


class _NestedDiffers(Exception):
    """A function made on both sides at the same place has another body."""

    def __init__(self, name: str, inner: Verdict) -> None:
        super().__init__(name)
        inside = f"in {name}: "
        found = inner.divergence
        if found is not None:
            event_a, event_b = inside + found.event_a, inside + found.event_b
            found = Divergence(found.offset_a, found.offset_b, event_a, event_b)
        self.verdict = Verdict(inner.grade, divergence=found, reason=inner.reason and inside + inner.reason)


def _reads_in_another_order(a: Program, b: Program) -> bool:
    """Whether the programs read globals and attributes in different order before the first branch.

    Each such read is an event, so there is no proof then, unless some globals are taken to keep their values.
    """
    return any(x != y for x, y in zip(_first_reads(a), _first_reads(b)))


def _first_reads(program: Program) -> List[Tuple[str, Any]]:
    found: List[Tuple[str, Any]] = []
    for op in program.ops:
        if op.target >= 0:
            break
        if op.kind in ("LOAD_GLOBAL", "LOAD_ATTR"):
            found.append((op.kind, op.arg))
    return found


def _bound_names(program: Program) -> List[str]:
    """The local names that may have a value, in the order in which `locals()` lists them."""
    bound = {op.arg for op in program.ops if op.kind == "STORE_LOCAL"}.union(parameters(program.code))
    return [name for name in program.code.co_varnames if name in bound]


def _simulation(
    a: Program,
    b: Program,
    terms: Terms,
    own_names: FrozenSet[str],
    constant: Callable[[str], bool] | None,
    same_code: Callable[[int, int], bool],
) -> Bisimulation:
    """Both programs prepared. A frame whose local names can be seen keeps exactly those that it has."""
    if sees_local_names(a) or sees_local_names(b):
        own_names = frozenset()
        if set(a.code.co_varnames) != set(b.code.co_varnames):
            raise Unsupported("the frame looks at its local names, and they are not the same")
        if _bound_names(a) != _bound_names(b):
            raise Unsupported("the frame looks at its local names, and they are in another order")
    own_names = own_names.difference(parameters(a.code), a.code.co_cellvars, a.code.co_freevars)
    users = {*a.code.co_varnames, *a.code.co_cellvars, *a.code.co_freevars} - own_names
    read_by_original = {op.arg for op in a.ops if op.kind == "LOAD_GLOBAL"} if constant else set()

    def is_temp(name: str) -> bool:
        return name not in users

    def is_constant(name: str) -> bool:
        return constant is not None and name in read_by_original and constant(name)

    plan_a = make_plan(a, terms, is_temp, is_constant, SPECIAL)
    plan_b = make_plan(b, terms, is_temp, is_constant, SPECIAL)
    renewed = frozenset([op.arg for op in (*a.ops, *b.ops) if op.kind in ("SAVE_CELL", "RENEW_CELL")])
    plan_a.renewed = plan_b.renewed = renewed
    return Bisimulation(plan_a, plan_b, terms, same_code)
