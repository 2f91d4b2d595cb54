"""Mutants of source text: one small change of a random function."""

from __future__ import annotations

import ast
import copy
import random
from typing import Any, Callable, Dict, List, Optional

from depyf.decompiler.printer.parsed_trees import text_of

Mutation = Callable[[ast.AST, random.Random], bool]
FIELDS = ("body", "orelse", "finalbody")


def blocks(tree: ast.AST) -> List[List[ast.stmt]]:
    """Return the statement lists inside the functions of a module."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Module):
            continue
        for field in FIELDS:
            block = getattr(node, field, None)
            if isinstance(block, list) and block:
                found.append(block)
    return found


def swap_statements(tree: ast.AST, chance: random.Random) -> bool:
    """Swap two neighbouring statements."""
    long = [block for block in blocks(tree) if len(block) > 1]
    if not long:
        return False
    block = chance.choice(long)
    at = chance.randrange(len(block) - 1)
    block[at], block[at + 1] = block[at + 1], block[at]
    return True


def drop_statement(tree: ast.AST, chance: random.Random) -> bool:
    """Drop a statement."""
    block = chance.choice(blocks(tree))
    block[chance.randrange(len(block))] = ast.Pass()
    return True


def double_statement(tree: ast.AST, chance: random.Random) -> bool:
    """Do a statement twice."""
    block = chance.choice(blocks(tree))
    at = chance.randrange(len(block))
    block.insert(at, copy.deepcopy(block[at]))
    return True


def exchange_operands(tree: ast.AST, chance: random.Random) -> bool:
    """Exchange two operands of an operator, a comparison, a call, a display or an unpacking."""
    pairs: List[List[ast.expr]] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)) and len(node.elts) > 1:
            pairs.append(node.elts)
        elif isinstance(node, ast.Call) and len(node.args) > 1:
            pairs.append(node.args)
        elif isinstance(node, ast.BoolOp):
            pairs.append(node.values)
    both = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp)]
    if both and (not pairs or chance.random() < 0.5):
        chosen = chance.choice(both)
        chosen.left, chosen.right = chosen.right, chosen.left
        return True
    if not pairs:
        return False
    items = chance.choice(pairs)
    items[0], items[-1] = items[-1], items[0]
    return True


def other_name(tree: ast.AST, chance: random.Random) -> bool:
    """Use another name in one place."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and len(node.id) == 1]
    if not names:
        return False
    chance.choice(names).id = chance.choice("abcdzghmx")
    return True


def other_scope(tree: ast.AST, chance: random.Random) -> bool:
    """Declare a name global or nonlocal, or drop such a declaration."""
    found = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    declared = [
        (node.body, n)
        for node in found
        for n, statement in enumerate(node.body)
        if isinstance(statement, (ast.Global, ast.Nonlocal))
    ]
    if declared and chance.random() < 0.5:
        body, n = chance.choice(declared)
        body[n] = ast.Pass()
        return True
    kind = chance.choice([ast.Global, ast.Nonlocal])
    chance.choice(found).body.insert(0, kind(names=[chance.choice("abcdz")]))
    return True


def with_temporary(tree: ast.AST, chance: random.Random) -> bool:
    """Give the first argument of a call a name, deleted afterwards or not."""
    places = [
        (block, n, statement.value)
        for block in blocks(tree)
        for n, statement in enumerate(block)
        if isinstance(statement, (ast.Expr, ast.Assign)) and isinstance(statement.value, ast.Call)
    ]
    places = [place for place in places if place[2].args and not isinstance(place[2].args[0], ast.Starred)]
    if not places:
        return False
    block, n, call = chance.choice(places)
    value, call.args[0] = call.args[0], ast.Name("t_", ast.Load())
    end = chance.choice(["", "del t_", "t_ = None"])
    if end:
        block.insert(n + 1, ast.parse(end).body[0])
    block.insert(n, ast.Assign([ast.Name("t_", ast.Store())], value))
    return True


def with_alias(tree: ast.AST, chance: random.Random) -> bool:
    """Insert a store of a variable into itself, a `del`, or a rebinding to None."""
    block = chance.choice(blocks(tree))
    name, other = chance.choice("abcdz"), chance.choice("abcdz")
    text = chance.choice([f"{name} = {name}", f"del {name}", f"{name} = None", f"{name} = {other}", f"{name}"])
    block.insert(chance.randint(0, len(block)), ast.parse(text).body[0])
    return True


def other_shape(tree: ast.AST, chance: random.Random) -> bool:
    """Rewrite a statement into one that seems to be the same."""
    block = chance.choice(blocks(tree))
    at = chance.randrange(len(block))
    statement = block[at]
    if isinstance(statement, ast.If) and isinstance(statement.test, ast.BoolOp) and not statement.orelse:
        first, *rest = statement.test.values
        inner = ast.If(rest[0] if len(rest) == 1 else ast.BoolOp(statement.test.op, rest), statement.body, [])
        block[at] = ast.If(first, [inner], [])
    elif isinstance(statement, ast.If) and statement.orelse:
        block[at] = ast.If(ast.UnaryOp(ast.Not(), statement.test), statement.orelse, statement.body)
    elif isinstance(statement, ast.While) and not statement.orelse:
        leave = ast.If(ast.UnaryOp(ast.Not(), statement.test), [ast.Break()], [])
        block[at] = ast.While(ast.Constant(True), [leave, *statement.body], [])
    elif isinstance(statement, ast.Try) and statement.orelse:
        statement.body, statement.orelse = [*statement.body, *statement.orelse], []
    elif isinstance(statement, ast.With) and len(statement.items) > 1:
        inner_with = ast.With(statement.items[1:], statement.body)
        block[at] = ast.With(statement.items[:1], [inner_with])
    elif isinstance(statement, ast.Return) and statement.value is not None:
        block[at : at + 1] = [*ast.parse("r_ = 0").body, ast.Return(ast.Name("r_", ast.Load()))]
        assign = block[at]
        assert isinstance(assign, ast.Assign)
        assign.value = statement.value
    else:
        block[at:] = [ast.Try(block[at:], [ast.ExceptHandler(None, None, [ast.Raise(None, None)])], [], [])]
    return True


def other_constant(tree: ast.AST, chance: random.Random) -> bool:
    """Change a constant into one that is easily confused with it."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    if not found:
        return False
    node = chance.choice(found)
    confused: Dict[Any, Any] = {0: False, 1: True, None: False, "s": b"s", 1.5: -1.5}
    node.value = confused.get(node.value, 1.0)
    return True


MUTATIONS: Dict[str, Mutation] = {
    "swap two statements": swap_statements,
    "drop a statement": drop_statement,
    "a statement twice": double_statement,
    "exchange operands": exchange_operands,
    "another name": other_name,
    "another scope": other_scope,
    "a temporary": with_temporary,
    "an alias or a del": with_alias,
    "another shape": other_shape,
    "another constant": other_constant,
}


def mutated(source: str, name: str, chance: random.Random) -> Optional[str]:
    """Return the text with one mutation, or None if it does not apply or gives no other text."""
    tree = ast.parse(source)
    if not MUTATIONS[name](tree, chance):
        return None
    try:
        text = text_of(tree)
    except (ValueError, RecursionError):
        return None
    return text if text != text_of(ast.parse(source)) else None
