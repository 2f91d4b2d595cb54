"""The proof of one pair of code objects and of those nested in them: which attempts to make, in which order.

Each attempt is one bisimulation (bisimulation.py). Attempts that need an assumption come after those without.
"""

from __future__ import annotations

from dataclasses import replace
from types import CodeType, FunctionType
from typing import Any, Callable, Collection, Dict, FrozenSet, Iterator, List, Set, Tuple

from depyf.decompiler.analysis.local_name_access import sees_local_names
from depyf.decompiler.analysis.op_kinds import op_kinds
from depyf.decompiler.analysis.used_locals import used_locals
from depyf.decompiler.bytecode.code_objects import CODE_TYPES
from depyf.decompiler.bytecode.malformed import Malformed
from depyf.decompiler.bytecode.microops import Program, parameters
from depyf.decompiler.bytecode.nested_code import too_nested
from depyf.decompiler.clean_program.self_stores import self_stores, without_self_stores
from depyf.decompiler.decode import decode, problem, verified
from depyf.decompiler.prove.bisimulation import Bisimulation, Diverged, entry_side
from depyf.decompiler.prove.comprehension_handlers import handlers_keep_order, without_restoring_handlers
from depyf.decompiler.prove.flat_program import make_plan, slots
from depyf.decompiler.prove.large_displays import filled_one_by_one
from depyf.decompiler.prove.machine_state import Pair
from depyf.decompiler.prove.operations import SPECIAL
from depyf.decompiler.prove.signatures import identical, same_operations, signature_difference
from depyf.decompiler.prove.symbolic_machine import TOO_MUCH_WORK, Unsupported
from depyf.decompiler.prove.terms import Terms
from depyf.decompiler.prove.verdict import Assumption, Divergence, Grade, Verdict


def prove(
    a: CodeType,
    b: CodeType,
    *,
    constant_globals: Callable[[str], bool] | None = None,
    own_names: Collection[str] = (),
    own_names_inside: Callable[[CodeType], Collection[str]] | None = None,
    drops_self_stores: bool = False,
    program_a: Program | None = None,
    is_compiled: bool = False,
) -> Verdict:
    """Return the verdict on whether `b`, recompiled from our text, is the same program as `a`, the original.

    `constant_globals` tests whether a global of that name may be assumed to keep its value while the frame runs;
    that is done, and recorded as an assumption, only if there is no proof without it. `own_names` are locals
    of `a` that its generator invented: `b` may lack or rename them; `own_names_inside` returns those of a code
    nested in `a`. `drops_self_stores`: `b` may lack stores of shared variables into themselves, which is recorded as
    an assumption. `program_a` saves decoding `a` again. `is_compiled`: CPython's compiler made `b`, and the code inside
    it that `a` does not have. Never raises for code that it cannot handle: the grade is UNPROVED then.
    """
    why = too_nested(a) or too_nested(b)
    if why is not None:
        return Verdict(Grade.UNPROVED, reason=why)
    proof = Proof(constant_globals, frozenset(own_names), own_names_inside, drops_self_stores, is_compiled)
    return proof.verdict(a, b, program_a, nested=False)


class Proof:
    """The proof of one pair of codes and of those nested in them."""

    def __init__(
        self,
        constant_globals: Callable[[str], bool] | None,
        own_names: FrozenSet[str],
        own_names_inside: Callable[[CodeType], Collection[str]] | None = None,
        drops_self_stores: bool = False,
        is_compiled: bool = False,
    ) -> None:
        self.constant_globals = constant_globals
        self.own_names = own_names
        self.own_names_inside = own_names_inside or (lambda code: ())
        self.drops_self_stores = drops_self_stores
        self.is_compiled = is_compiled
        self.nested: Dict[Tuple[int, int], Verdict] = {}

    def verdict(self, a: CodeType, b: CodeType, program_a: Program | None, nested: bool) -> Verdict:
        """Return the verdict on one pair."""
        if a is b or identical(a, b):
            why = _problem_of_identical(a, b, self.is_compiled)
            if why is not None:
                return Verdict(Grade.UNPROVED, reason=f"not well formed: {why}")
            inner = tuple([pair for pair in zip(a.co_consts, b.co_consts) if isinstance(pair[0], CODE_TYPES)])
            pairs = tuple([(at, at) for at in range(0, len(a.co_code), 2)])
            return Verdict(Grade.PROVED, pairs=pairs, nested=inner)
        difference = signature_difference(a, b, nested)
        if difference is not None:
            return Verdict(Grade.REFUTED, divergence=Divergence(-1, -1, *difference))
        why = _problem_of_shared(a, b)
        if why is not None:
            return Verdict(Grade.UNPROVED, reason=f"not well formed: {why}")
        try:
            verified_a = decode(a) if program_a is None else verified(program_a)
            program_a, program_b = filled_one_by_one(verified_a, decode(b, is_compiled=self.is_compiled and not nested))
        except Malformed as error:
            return Verdict(Grade.UNPROVED, reason=f"not well formed: {error}")
        except Exception as error:
            return Verdict(Grade.UNPROVED, reason=f"cannot be decoded: {error}")
        return self.compared(program_a, program_b, nested)

    def compared(self, a: Program, b: Program, nested: bool = False) -> Verdict:
        """Return the verdict on two programs whose signatures are the same."""
        if same_operations(a, b):
            return Verdict(Grade.PROVED, pairs=tuple(sorted({(x.offset, y.offset) for x, y in zip(a.ops, b.ops)})))
        lacking = {*a.code.co_cellvars}.difference(b.code.co_cellvars)
        if lacking and any(op.kind == "LOAD_CLOSURE" and op.arg in lacking for op in a.ops):
            difference = Divergence(-1, -1, f"cell variables {sorted(lacking)}", "no such cells")
            return Verdict(Grade.REFUTED, divergence=difference)
        given: Tuple[Assumption, ...] = ()
        if self.drops_self_stores and not nested and len(self_stores(a)) > len(self_stores(b)):
            a, b = without_self_stores(a), without_self_stores(b)
            given = (Assumption.SHARED_VARIABLES_BOUND,)
        first = self._attempts(a, b, nested, given)
        bare = None if first.holds or a.handlers else without_restoring_handlers(b)
        if bare is None:
            return first
        given = (*given, Assumption.NOT_SEEN_IN_TRACEBACKS)
        return self._attempts(a, bare, nested, given if handlers_keep_order(b) else (*given, Assumption.RELEASE_ORDER))

    def _attempts(self, a: Program, b: Program, nested: bool, assumed: Tuple[Assumption, ...] = ()) -> Verdict:
        """Try without the assumption about globals, then with it if there are such globals."""
        own_names = frozenset(self.own_names_inside(a.code)) if nested else self.own_names
        # A nested function may run after the frame has ended, and the assumption with it.
        constant = None if nested else self.constant_globals
        if constant is None or not any(constant(name) for name in a.code.co_names):
            return self._attempt(a, b, own_names, None, assumed)
        under = (*assumed, Assumption.INSTALLED_GLOBALS_CONSTANT)
        tries = [(None, assumed), (constant, under)]
        if _reads_in_another_order(a, b):  # the attempt without it would probably fail
            tries.reverse()
        for constant_now, assumed_now in tries:
            found = self._attempt(a, b, own_names, constant_now, assumed_now)
            if found.holds or found.reason == TOO_MUCH_WORK:
                return found
            if constant_now is not None:
                failure = found  # this attempt gets further, so report its failure
        return failure

    def _attempt(
        self,
        a: Program,
        b: Program,
        own_names: FrozenSet[str],
        constant: Callable[[str], bool] | None,
        given: Tuple[Assumption, ...],
    ) -> Verdict:
        invented = _invents(a, own_names) or _invents_beside(a, b)
        if not invented:
            found = self._run(a, b, own_names, constant, given, exact=True)
            if found.holds or found.reason == TOO_MUCH_WORK:
                return found
        found = self._run(a, b, own_names, constant, given)
        if not found.holds and found.reason != TOO_MUCH_WORK and _makes_tuples(a) and _makes_tuples(b):
            by_value = (*given, Assumption.TUPLES_BY_VALUE)
            found = self._run(a, b, own_names, constant, by_value, by_value=True)
        return _with_releases(found, invented, a, b) if found.holds else found

    def _run(
        self,
        a: Program,
        b: Program,
        own_names: FrozenSet[str],
        constant: Callable[[str], bool] | None,
        given: Tuple[Assumption, ...],
        exact: bool = False,
        by_value: bool = False,
    ) -> Verdict:
        """Return the verdict of one bisimulation."""
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
            simulation = _simulation(a, b, terms, own_names, constant, same_code, exact, by_value)
            names = parameters(a.code)
            simulation.run(Pair(entry_side(terms, names), entry_side(terms, names)))
        except Diverged as found:
            return Verdict(Grade.REFUTED, divergence=found.divergence)
        except _NestedDiffers as found:
            return found.verdict
        except Unsupported as reason:
            return Verdict(Grade.UNPROVED, reason=str(reason))
        except (LookupError, ValueError, AssertionError, RecursionError) as error:
            # Instructions that no machine could run, such as a pop from an empty stack: not proved, not an error.
            return Verdict(Grade.UNPROVED, reason=f"cannot be followed: {error!r}")
        assumed |= simulation.assumed
        if FunctionType in b.code.co_consts and FunctionType not in a.code.co_consts:
            assumed.add(Assumption.CLOSURES_ARE_CELLS)  # MAKE_FUNCTION takes anything, and the type tests it
        assumptions = tuple([assumption for assumption in Assumption if assumption in assumed])
        grade = Grade.PROVED_UNDER if assumptions else Grade.PROVED
        return Verdict(grade, assumptions, pairs=tuple(sorted(simulation.matched)), nested=tuple(same))

    def _nested_verdict(self, a: CodeType, b: CodeType) -> Verdict:
        key = (id(a), id(b))
        known = self.nested.get(key)
        if known is None:
            known = self.nested[key] = self.verdict(a, b, None, nested=True)
        return known


def _invents(program: Program, own_names: FrozenSet[str]) -> bool:
    """Return whether a program stores to a local that its generator invented."""
    return bool(own_names) and any(op.kind == "STORE_LOCAL" and op.arg in own_names for op in program.ops)


def _invents_beside(a: Program, b: Program) -> bool:
    """Return whether `b` stores to a local that `a` does not have, or has no use for."""
    users = used_locals(a).union(a.code.co_cellvars, a.code.co_freevars)
    return any(op.kind == "STORE_LOCAL" and op.arg not in users for op in b.ops)


def _makes_tuples(program: Program) -> bool:
    return not op_kinds(program).isdisjoint(("BUILD_TUPLE", "LIST_TO_TUPLE"))


def _with_releases(found: Verdict, invented: bool, a: Program, b: Program) -> Verdict:
    """Return a verdict that holds, but was not proved exactly, with the assumptions that make up for that."""
    assumed = {*found.assumptions}
    # With invented variables no exact proof was tried: the attempt itself found whether the user's order is kept.
    assumed.add(Assumption.TEMPORARIES if invented else Assumption.RELEASE_ORDER)
    names_a, names_b = (slots(program) for program in (a, b))
    both = {*names_a}.intersection(names_b)
    if [name for name in names_a if name in both] != [name for name in names_b if name in both]:
        assumed.add(Assumption.RELEASE_ORDER)  # the order in which the frame gives up its variables
    assumptions = tuple([assumption for assumption in Assumption if assumption in assumed])
    return replace(found, grade=Grade.PROVED_UNDER, assumptions=assumptions)


class _NestedDiffers(Exception):
    """The function that both sides make at the same place has different bodies."""

    def __init__(self, name: str, inner: Verdict) -> None:
        super().__init__(name)
        inside = f"in {name}: "
        found = inner.divergence
        if found is not None:
            event_a, event_b = inside + found.event_a, inside + found.event_b
            found = Divergence(found.offset_a, found.offset_b, event_a, event_b)
        self.verdict = Verdict(inner.grade, divergence=found, reason=inner.reason and inside + inner.reason)


def _problem_of_identical(a: CodeType, b: CodeType, is_compiled: bool) -> str | None:
    """Return what is wrong with two codes that agree in every bit, or with codes inside them; None if nothing is.

    If CPython's compiler made `b`, it is well formed, and so is `a`, but for code objects of `a` that `b` has kept, and
    for the size of the stack, which may be smaller.
    """
    work = [(a, b)]
    while work:
        one, other = work.pop()
        if not is_compiled or one is other or one.co_stacksize != other.co_stacksize:
            why = problem(one)
            if why is not None:
                return why if one is a else f"in {one.co_name}: {why}"
        work.extend([pair for pair in zip(one.co_consts, other.co_consts) if isinstance(pair[0], CODE_TYPES)])
    return None


def _problem_of_shared(a: CodeType, b: CodeType) -> str | None:
    """Return what is wrong with a code object inside `a` that `b` has kept, or None."""
    kept = {id(const) for const in b.co_consts if isinstance(const, CODE_TYPES)}
    for inner in [const for const in a.co_consts if id(const) in kept]:
        why = _problem_of_identical(inner, inner, is_compiled=False)
        if why is not None:
            return f"in {inner.co_name}: {why}"
    return None


def _reads_in_another_order(a: Program, b: Program) -> bool:
    """Return whether the programs read globals and attributes in different order before the first branch.

    Reads of globals do not commute with events, such as reads of attributes, so a proof then usually needs globals
    that are assumed to keep their values.
    """
    return any(x != y for x, y in zip(_first_reads(a), _first_reads(b)))


def _first_reads(program: Program) -> Iterator[Tuple[str, Any]]:
    for op in program.ops:
        if op.target >= 0:
            break
        if op.kind in ("LOAD_GLOBAL", "LOAD_ATTR"):
            yield op.kind, op.arg


def _renewed(program: Program) -> FrozenSet[str]:
    """Return the variables that a program gives a new cell."""
    if op_kinds(program).isdisjoint(_RENEWING):
        return frozenset()
    return frozenset([op.arg for op in program.ops if op.kind in _RENEWING])


_RENEWING = ("SAVE_CELL", "RENEW_CELL")


def _simulation(
    a: Program,
    b: Program,
    terms: Terms,
    own_names: FrozenSet[str],
    constant: Callable[[str], bool] | None,
    same_code: Callable[[int, int], bool],
    exact: bool,
    by_value: bool,
) -> Bisimulation:
    """Prepare both programs; a frame that may read its own local names must keep exactly those that it has."""
    if sees_local_names(a) or sees_local_names(b):
        own_names = frozenset()
        if set(a.code.co_varnames) != set(b.code.co_varnames):
            raise Unsupported("the frame looks at its local names, and they are not the same")
        if slots(a) != slots(b):
            raise Unsupported("the frame looks at its local names, and they are in another order")
    own_names = own_names.difference(parameters(a.code), a.code.co_cellvars, a.code.co_freevars)
    users = used_locals(a).union(a.code.co_cellvars, a.code.co_freevars) - own_names
    read_by_original = {op.arg for op in a.ops if op.kind == "LOAD_GLOBAL"} if constant else set()

    def is_temp(name: str) -> bool:
        return name not in users

    def is_constant(name: str) -> bool:
        return constant is not None and name in read_by_original and constant(name)

    ends_differ = exact and slots(a) != slots(b)
    plan_a = make_plan(a, terms, is_temp, is_constant, SPECIAL, ends_differ)
    plan_b = make_plan(b, terms, is_temp, is_constant, SPECIAL, ends_differ)
    plan_a.renewed = plan_b.renewed = _renewed(a) | _renewed(b)
    return Bisimulation(plan_a, plan_b, terms, same_code, exact, by_value)
