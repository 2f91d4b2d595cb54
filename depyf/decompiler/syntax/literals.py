"""Literals: a constant -> text that evaluates to exactly that value, to the bit, or `Unspellable`."""

from __future__ import annotations

import collections
import itertools
import math
import random
import struct
from typing import Any, Callable, FrozenSet, Iterator, List, Optional

from depyf.decompiler.syntax.precedence import ATOM, FACTOR

LONGEST_DECIMAL = 4096  # bits; Python refuses to read decimals of more than 4300 digits
INFINITY = "1e309"
MOST_SHUFFLES, LARGEST_SHUFFLED = 1000, 20  # orders that are tried, and elements of a set for which they are
MOST_PERMUTED = 6  # elements with one hash whose orders are tried


class Unspellable(Exception):
    """No source text that the target Python accepts evaluates to exactly this; choose another form."""


def spelled_elements(constant: FrozenSet[Any]) -> List[Any]:
    """Return the elements of a set in an order of which the compiler makes the same set, the same in every process.

    Elements with one hash stand in the set in the order in which they were written, and `in` compares with each: the
    order that gives this set back is searched for. The order of all others is seen only by iteration.
    """
    items = sorted(constant, key=_order)
    hashes = collections.Counter([hash(item) for item in items])
    shared = [item for item in items if hashes[hash(item)] > 1]
    if not shared or len(shared) > MOST_PERMUTED:
        return items
    rest = [item for item in items if item not in shared]
    wanted = list(constant)
    for order in itertools.permutations(shared):
        if list(frozenset([*order, *rest])) == wanted:
            return [*order, *rest]
    return items


def iterated_elements(constant: FrozenSet[Any], is_exact: bool, charge: Callable[[int], None]) -> Optional[List[Any]]:
    """Return the elements in an order of which the compiler makes a set that iterates alike; None if none was found.

    Strings have other hashes in every process, and a set of them another order: unless `is_exact`, theirs is the order
    of `spelled_elements`, so that the text is the same in every process. The work of a search is charged.
    """
    written = spelled_elements(constant)
    if not is_exact and not all(map(_has_fixed_hash, constant)):
        return written
    wanted = list(constant)
    return next((order for order in _orders(charge, written, wanted) if list(frozenset(order)) == wanted), None)


def _orders(charge: Callable[[int], None], *first: List[Any]) -> Iterator[List[Any]]:
    """Yield these orders and then, for sets that are not large, some more: few elements share a place in a set."""
    yield from first
    shuffled = list(first[0])
    if len(shuffled) > LARGEST_SHUFFLED:
        return
    charge(MOST_SHUFFLES)
    chosen = random.Random(0)
    for _ in range(MOST_SHUFFLES):
        chosen.shuffle(shuffled)
        yield list(shuffled)


def _has_fixed_hash(item: Any) -> bool:
    if type(item) is tuple:
        return all(map(_has_fixed_hash, item))
    return type(item) in (int, bool, float, complex)


def _order(item: Any) -> tuple[str, str]:
    """Return what elements of a set are sorted by; the text of a long integer in base 10 is refused by Python."""
    kind = type(item)
    return kind.__name__, hex(item) if kind is int and item.bit_length() > LONGEST_DECIMAL else repr(item)


def spell(value: Any) -> tuple[str, int]:
    """Return the text of a constant that is no container, and the level at which the text binds.

    Raises `Unspellable` for a nan or a complex number that no constant expression folds to, and for objects of any
    other type, subclasses of the plain types included.
    """
    kind = type(value)
    if kind is str or kind is bytes or kind is bool or value is None:
        return repr(value), ATOM
    if kind is int:
        text = hex(value) if value.bit_length() > LONGEST_DECIMAL else repr(value)
        return text, FACTOR if value < 0 else ATOM
    if kind is float and math.isnan(value):
        return _spell_nan(value)
    if kind is float:
        return _spell_float(value), FACTOR if math.copysign(1.0, value) < 0 else ATOM
    if kind is complex:
        return _spell_complex(value)
    if value is Ellipsis:
        return "...", ATOM
    raise Unspellable(f"no source text evaluates to this {kind.__name__} as a constant: {_shown(value)}")


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # a repr is the user's code
        return "<no repr>"
    return text if len(text) <= 80 else text[:77] + "..."


def _spell_nan(value: float) -> tuple[str, int]:
    """Return an operation that the compiler folds to this very nan; its sign depends on the machine, so compute it."""
    nan = math.inf - math.inf
    if _bits(nan, 0.0) == _bits(value, 0.0):
        return f"({INFINITY} - {INFINITY})", ATOM
    if _bits(-nan, 0.0) == _bits(value, 0.0):
        return f"-({INFINITY} - {INFINITY})", FACTOR
    raise Unspellable("no operation that the compiler folds gives these bits of a nan")


def _spell_float(value: float) -> str:
    if math.isnan(value):
        raise Unspellable("no literal is nan")  # a part of a complex number
    if math.isinf(value):
        return INFINITY if value > 0 else "-" + INFINITY
    return repr(value)


def _spell_complex(value: complex) -> tuple[str, int]:
    """Return a literal, or a sum that the compiler folds; compute each candidate, as signs of zeros decide.

    Python 3.14 adds a real and a complex number without first converting the real one to complex, which
    changes signs of zeros; a candidate must give the value both ways.
    """
    wanted = _bits(value.real, value.imag)
    real, imag = abs(value.real), abs(value.imag)
    imag_text = _spell_part(imag) + "j"
    if _bits(0.0, imag) == wanted:
        return imag_text, ATOM
    if _bits(-0.0, -imag) == wanted:
        return "-" + imag_text, FACTOR
    for sign in (1.0, -1.0):
        for left in (real, -real):
            for operator in "+-":
                signed = imag if operator == "+" else -imag
                real_sum = left + 0.0 if operator == "+" else left - 0.0
                promoted, mixed = (
                    _bits(sign * real_sum, sign * (0.0 + signed)),
                    _bits(sign * real_sum, sign * signed),
                )
                if promoted == mixed == wanted:
                    text = f"({_spell_part(left)}{operator}{imag_text})"
                    return (text, ATOM) if sign > 0 else ("-" + text, FACTOR)
    raise Unspellable(f"no constant expression gives {value!r} with these signs of zero")


def _spell_part(value: float) -> str:
    """Return the text of a real or imaginary part: like `repr` of a complex number, without `.0`."""
    text = _spell_float(value)
    return text[:-2] if text.endswith(".0") and text != "-0.0" else text  # -0 is an int, without a sign


def _bits(real: float, imag: float) -> bytes:
    return struct.pack("dd", real, imag)
