"""The last touches to a body: values that waited for a name, and forms that a person would write."""

from __future__ import annotations

import itertools
import re
from typing import Any, Callable, Collection, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from depyf.decompiler import syntax as s
from depyf.decompiler.build.constants import Placeholders
from depyf.decompiler.build.forms import (
    WILDCARD,
    AiterOf,
    AssertionErrorName,
    Converted,
    CoroutineComprehension,
    Flipped,
    Inplace,
    IterOf,
    flips,
    is_none,
    negate,
)
from depyf.decompiler.build.names import suggestion
from depyf.decompiler.build.unpacking import Dropped
from depyf.decompiler.build.values import FunctionValue, Value
from depyf.decompiler.bytecode.python_facts import MOST_PAIRS_IN_TURN
from depyf.decompiler.bytecode.unstructured import Unstructured

_CONVERSIONS = {"s": str, "r": repr, "a": ascii}


def resolve(body: List[s.Statement], placeholders: Placeholders) -> List[s.Statement]:
    """Replace the values that still stand in the tree by their names or expressions, in place."""
    work: List[Any] = list(body)
    while work:
        node = work.pop()
        if isinstance(node, s.Dict) and None in node.keys:
            spread(node, placeholders)
        for slot in node.__slots__:
            child = getattr(node, slot, None)
            if isinstance(child, s.Node):
                final = _resolved(child, placeholders)
                if type(final) is Flipped and not (slot == "test" and isinstance(node, s.If)):
                    final = _as_written(final)
                if final is not child:
                    setattr(node, slot, final)
                if not isinstance(final, s.Constant):
                    work.append(final)
            elif isinstance(child, (list, tuple)) and child and slot != "names":
                new = [_resolved(item, placeholders) if isinstance(item, s.Node) else item for item in child]
                new = [_as_written(item) if type(item) is Flipped else item for item in new]
                if slot in ("body", "orelse", "finalbody", "handlers"):
                    work.extend(new)
                else:
                    setattr(node, slot, new)
                    work.extend(item for item in new if isinstance(item, s.Node) and not isinstance(item, s.Constant))
    return body


def spread(node: s.Dict, placeholders: Placeholders) -> None:
    """`{**x, **{y: z}}` -> `{**x, y: z}`: the compiler puts what comes after a `**` into a dict of its own, too.

    If that is long it makes several, each of as many pairs as it does in turn.
    """
    pairs: List[Tuple[Optional[s.Expression], s.Expression]] = []
    written = 1  # pairs since the last `**`; those at the beginning of the display are not in a dict of their own
    for key, value in zip(node.keys, node.values):
        can_be_spread = key is None and written % MOST_PAIRS_IN_TURN == 0
        inner = _resolved(value, placeholders) if can_be_spread else None
        if isinstance(inner, s.Dict) and 0 < len(inner.keys) <= MOST_PAIRS_IN_TURN and None not in inner.keys:
            pairs.extend(zip(inner.keys, inner.values))
            written += len(inner.keys)
        else:
            pairs.append((key, value))
            written = 0 if key is None else 1
    node.keys, node.values = [key for key, _ in pairs], [value for _, value in pairs]


def _as_written(node: Flipped) -> s.Compare:
    """The comparison for good: nothing is left to swap for it."""
    return s.Compare(node.left, node.ops, node.comparators)


def _resolved(node: Any, placeholders: Placeholders) -> Any:
    while isinstance(node, Value):
        if node.name is not None:
            return s.Name(node.name)
        if isinstance(node, FunctionValue) and not isinstance(node.node, s.Lambda):
            raise Unstructured("a function is used before it has a name")
        node = node.node
    if type(node) is Dropped:
        return s.Name(node.id)
    if type(node) is Inplace:
        raise Unstructured("an in-place operation inside an expression")
    if type(node) is IterOf:
        return s.Call(placeholders.node(iter), node.args)
    if type(node) is Converted:
        return s.Call(placeholders.node(_CONVERSIONS[chr(node.conversion)]), [node.value])
    if type(node) in (AiterOf, CoroutineComprehension):
        raise Unstructured("an iterator that no loop runs over")
    return node


def spell_assertion_errors(body: List[s.Statement], placeholders: Placeholders) -> None:
    """The interpreter's own AssertionError where no assert statement says it: a constant without a spelling."""
    work: List[Any] = list(body)
    while work:
        node = work.pop()
        for slot in node.__slots__:
            child = getattr(node, slot, None)
            if type(child) is AssertionErrorName:
                setattr(node, slot, placeholders.node(AssertionError))
            elif isinstance(child, (list, tuple)) and any(type(item) is AssertionErrorName for item in child):
                own = placeholders.node(AssertionError)
                setattr(node, slot, [own if type(item) is AssertionErrorName else item for item in child])
        work.extend(s.children(node))


def rename(body: List[s.Statement], names: Dict[str, str]) -> None:
    """Give variables other names."""
    if not names:
        return
    for statement in body:
        for node in s.walk(statement):
            if isinstance(node, s.Name) and node.id in names:
                node.id = names[node.id]


_GENERATED_NAME = re.compile(r"tmp_\d+$")
_MADE_OF_GENERATED = re.compile(r"(?P<base>tmp_\d+)_(?P<rest>.+)$")
_LONGEST_NAME = 24
# What Dynamo keeps in every frame, in a word: the clock that it stops when the graph starts.
_WORDS = {"record_pregraph_bytecode_enter_result": "pregraph_timer"}


def telling_names(body: List[s.Statement], generated: Collection[str]) -> Dict[str, str]:
    """For variables of a code generator that say nothing (`tmp_3`), a name from the one value that they get.

    None does not count: it stands for a value that is not there yet.
    """
    found: Dict[str, Set[str]] = {}
    plain = {name for name in generated if _GENERATED_NAME.match(name)}
    if not plain:
        return {}
    for statement in own_statements(body):
        if isinstance(statement, s.Assign):
            for target in statement.targets:
                for part in s.walk(target):
                    if isinstance(part, s.Name) and part.id in plain and not is_none(statement.value):
                        wanted = suggestion(statement.value) if part is target else "value"
                        found.setdefault(part.id, set()).add(wanted)
    only = {name: next(iter(names)) for name, names in found.items() if len(names) == 1}
    for name, wanted in only.items():  # in the order of the text: a name may be made of one before it
        only[name] = _WORDS.get(wanted) or _module(wanted) or after_renaming(wanted, only)
    return {name: wanted for name, wanted in only.items() if wanted != "value" and len(wanted) <= _LONGEST_NAME}


def own_statements(body: List[s.Statement]) -> Iterator[s.Statement]:
    """The statements of a body and of those inside it, in the order of the text; not of functions and classes."""
    work = [iter(body)]
    while work:
        statement = next(work[-1], None)
        if statement is None:
            work.pop()
            continue
        yield statement
        work.append(itertools.chain.from_iterable(bodies(statement)))


def _module(name: str) -> str:
    """A module that Dynamo put into the globals: `__import_torch_dot__dynamo_dot_utils` is called `dynamo_utils`."""
    parts = name[len("import_") :].split("_dot_") if name.startswith("import_") else []
    return "_".join(part.strip("_") for part in parts[-2:])


def after_renaming(name: str, renamed: Mapping[str, str]) -> str:
    """A name that was made of another one (`tmp_3_result`), made of the better name of that."""
    made_of = _MADE_OF_GENERATED.match(name)
    if made_of is None or made_of["base"] not in renamed:
        return name
    return f"{renamed[made_of['base']]}_{made_of['rest']}"


def named_after(temporaries: Sequence[str], renamed: Mapping[str, str]) -> Dict[str, str]:
    """Better names for our own temporaries that are called after a variable which gets a better name."""
    better = {temporary: after_renaming(temporary, renamed) for temporary in temporaries}
    return {temporary: name for temporary, name in better.items() if name != temporary}


def finish_body(body: List[s.Statement]) -> List[s.Statement]:
    """The body of a function as a person would write it."""
    work: List[Tuple[List[s.Statement], bool]] = [(body, False)]
    while work:
        current, ends_loop = work.pop()
        _tidy(current, ends_loop)
        for statement in current:
            is_loop = isinstance(statement, (s.For, s.While, s.AsyncFor))
            at_end = ends_loop and statement is current[-1]
            for part in bodies(statement):
                if is_loop and part is statement.body:  # type: ignore[attr-defined]
                    work.append((part, True))
                else:
                    work.append((part, at_end and isinstance(statement, s.If)))
    _drop_final_returns(body)
    return body


def bodies(statement: s.Statement) -> List[List[s.Statement]]:
    """The bodies directly inside a statement."""
    if isinstance(statement, (s.If, s.For, s.While, s.AsyncFor)):
        return [statement.body, statement.orelse]
    if isinstance(statement, (s.With, s.AsyncWith)):
        return [statement.body]
    if isinstance(statement, s.Match):
        return [case.body for case in statement.cases]
    if isinstance(statement, (s.Try, s.TryStar)):
        return [statement.body, *(h.body for h in statement.handlers), statement.orelse, statement.finalbody]
    return []


def _tidy(body: List[s.Statement], ends_loop: bool) -> None:
    """Rewrite the statements of one body; what an `if` that always leaves has as its else comes after it.

    `ends_loop`: at the end of the body its loop goes on.
    """
    position = 0
    while position < len(body):
        statement = body[position]
        if isinstance(statement, s.If):
            if not statement.body and statement.orelse and not flips(statement.test):
                statement.test = negate(statement.test)
                statement.body, statement.orelse = statement.orelse, []
            assertion = _as_assert(statement)
            if assertion is not None:
                body[position : position + 1] = [assertion, *statement.orelse]
                continue
            if type(statement.test) is Flipped:
                statement.test = negate(statement.test)
                statement.body, statement.orelse = statement.orelse, statement.body
            if not statement.body:
                statement.body.append(s.Continue() if ends_loop and position == len(body) - 1 else s.Pass())
            if statement.orelse and position == len(body) - 1 and ends(statement.body):
                rest = statement.orelse
                statement.orelse = []
                body.extend(rest)
            elif position == len(body) - 1 and _short_end(statement.orelse) and not flips(statement.test):
                statement.test = negate(statement.test)
                rest = statement.body
                statement.body, statement.orelse = statement.orelse, []
                body.extend(rest)
        elif isinstance(statement, s.Raise):
            body[position] = _assertion(statement, lambda: s.Constant(False)) or statement
        elif isinstance(statement, s.Try):
            _join_try(statement)
            if len(statement.body) > 1 and _is_bare_return(statement.body[-1]) and ends(statement.finalbody):
                statement.body = statement.body[:-1]  # nothing is returned: the `finally` goes elsewhere
            if statement.orelse and statement.handlers and not statement.finalbody:
                if position == len(body) - 1 and all(ends(handler.body) for handler in statement.handlers):
                    body.extend(statement.orelse)
                    statement.orelse = []
        position += 1


def _short_end(body: List[s.Statement]) -> bool:
    leaves = (s.Raise, s.Return, s.Continue, s.Break)
    return len(body) == 1 and isinstance(body[0], leaves) and not _is_bare_return(body[0])


def _is_bare_return(statement: s.Statement) -> bool:
    return isinstance(statement, s.Return) and statement.value is None


def ends(body: List[s.Statement]) -> bool:
    """Whether control never reaches the end of a body."""
    while body:
        last = body[-1]
        if isinstance(last, (s.Return, s.Raise, s.Break, s.Continue)):
            return True
        if isinstance(last, s.If) and last.orelse and ends(last.body):
            body = last.orelse
            continue
        return False
    return False


def _as_assert(statement: s.If) -> Optional[s.Statement]:
    """`if not x: raise AssertionError(m)` with the interpreter's own AssertionError is an assert."""
    if len(statement.body) != 1 or not isinstance(statement.body[0], s.Raise):
        return None
    return _assertion(statement.body[0], lambda: negate(statement.test))


def _assertion(statement: s.Raise, test: Callable[[], s.Expression]) -> Optional[s.Statement]:
    raised = statement.exc
    if isinstance(raised, AssertionErrorName):
        return s.Assert(test(), None, origin=statement.origin)
    if isinstance(raised, s.Call) and isinstance(raised.func, AssertionErrorName) and len(raised.args) == 1:
        return s.Assert(test(), raised.args[0], origin=statement.origin)
    return None


def _join_try(statement: s.Try) -> None:
    """try: (try: ... except: ...) finally: ... is one statement."""
    if statement.finalbody and not statement.handlers and len(statement.body) == 1:
        inner = statement.body[0]
        if isinstance(inner, s.Try) and inner.handlers and not inner.finalbody:
            statement.body, statement.handlers, statement.orelse = inner.body, inner.handlers, inner.orelse


def _drop_final_returns(body: List[s.Statement]) -> None:
    """`return None` where the function ends anyway need not be said."""
    work = [body]
    matches: List[s.Match] = []
    tries: List[Any] = []
    while work:
        current = work.pop()
        if current and _is_bare_return(current[-1]):
            current.pop()
            if current:
                work.append(current)
            continue
        if not current:
            continue
        last = current[-1]
        if isinstance(last, s.If):
            work.extend([last.body, last.orelse])
            if not last.body and not last.orelse:
                last.body.append(s.Pass())
        elif isinstance(last, s.Match):
            work.extend(case.body for case in last.cases)
            matches.append(last)
        elif isinstance(last, (s.With, s.AsyncWith)):
            work.append(last.body)
        elif isinstance(last, (s.Try, s.TryStar)):
            work.extend(handler.body for handler in last.handlers)
            work.append(last.orelse or last.body)
            tries.append(last)
    for statement in tries:
        for part in (statement.body, *(handler.body for handler in statement.handlers)):
            if not part:
                part.append(s.Pass())
        if isinstance(statement, s.Try):
            _join_try(statement)
    for match in matches:
        _fill_cases(match)


def _fill_cases(match: s.Match) -> None:
    """Cases that have nothing left to say."""
    final = match.cases[-1]
    if not final.body and final.guard is None and final.pattern is WILDCARD and len(match.cases) > 1:
        match.cases = match.cases[:-1]
    for case in match.cases:
        if not case.body:
            case.body.append(s.Pass())


__all__ = ["bodies", "ends", "finish_body", "is_none", "resolve"]
