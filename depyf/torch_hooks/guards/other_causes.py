"""What else changed beside the guard that torch names: the other values that a version was compiled for.

Of all guards of a version that fail torch reports the first.  What a version pins is compared, by
`depyf.record.tested_values`, with what the new one pins or its variables held.  That a variable, such as `self`, holds
another module is known from the modules: often no guard tests it, but the rest may follow from it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Dict, List, Sequence, Set, Tuple

from depyf.record.guard_conditions import SameObject
from depyf.record.records import ChangedValue, FailedGuard, GuardRecord
from depyf.record.tested_values import Tested, changes, values_tested, with_held
from depyf.record.vocabulary import FITS_NOW
from depyf.text.lines import shortened
from depyf.torch_hooks.guards.compiled_values import CompiledValues, key_difference, other_modules
from depyf.torch_hooks.guards.mismatches import CONTAINS, IDENTITY, LENGTH, SAME_OBJECT, Mismatch
from depyf.torch_hooks.internals.torch_text import scrub

_MOST = 3  # that are named for one guard; a fourth takes no more room than "1 more"
_SAME_MODULE = 0.5  # of two versions that differ in as many values the nearer one is that of the same module
_LENGTH = re.compile(r"len\((\w+)\)$")


@dataclass(frozen=True)
class GuardedVersion:
    """A compiled version: its guards, and what its variables held."""

    compile_id: str = ""
    guards: Sequence[GuardRecord] = ()
    values: CompiledValues = field(default_factory=CompiledValues)

    @cached_property
    def tested(self) -> Dict[str, Tested]:
        """What its guards test, by the value that it is about."""
        return values_tested([guard.test for guard in self.guards])

    @cached_property
    def held(self) -> Dict[str, Tested]:
        """The same, and the values of variables that it does not pin: it fits others as well."""
        return with_held(self.tested, self.values.numbers, self.values.sizes)


UNKNOWN_VERSION = GuardedVersion()


def distances_of(mismatch: Mismatch, versions: Sequence[GuardedVersion], new: GuardedVersion) -> Dict[str, float]:
    """Return how many values set each of the versions that fail likewise apart from the new one, by compile id."""
    if len(versions) == 1:
        return {versions[0].compile_id: 0}  # whatever it is, there is none to compare it with
    return {
        one.compile_id: _distance(_other_changes(one, mismatch, new)) if one.guards and new.guards else math.inf
        for one in versions
    }


def _distance(also: Sequence[ChangedValue]) -> float:
    return sum(1 if one.condition else _SAME_MODULE for one in also)


def with_other_causes(
    failed: FailedGuard, mismatch: Mismatch, version: GuardedVersion, new: GuardedVersion
) -> Tuple[FailedGuard, float]:
    """Add what else is not as an earlier version needs it.

    Return how many values it is, too: the distance of that version from the new one; infinite where not known.
    """
    if failed.kind == FITS_NOW or not new.guards or not version.guards:
        return failed, math.inf
    also = _other_changes(version, mismatch, new)
    same = [one for one in also if one.condition == failed.condition]
    if same and not failed.now:  # the value could not be read, but the new version tests it, too
        failed, also = replace(failed, now=same[0].now), [one for one in also if one not in same]
    tested = [one for one in also if one.condition]
    few = tested if len(tested) <= _MOST + 1 else tested[:_MOST]
    shown = tuple([_scrubbed(one) for one in also if not one.condition or one in few])
    return replace(failed, also=shown, also_more=len(also) - len(shown)), _distance(also)


def _other_changes(old: GuardedVersion, mismatch: Mismatch, new: GuardedVersion) -> List[ChangedValue]:
    known = _known(mismatch)
    others = other_modules(old.values, new.values) if mismatch.aspect != IDENTITY else {}
    found = [ChangedValue(name, _identity_of(name, old), now=which) for name, which in others.items()]
    for change in changes(old.tested, new.held):
        if change.about not in known and not _follows(change, mismatch):
            found.append(_with_keys(change, old.values, new.values))
    about = {*known, *[change.about for change in found]}
    return found + [change for change in _keys_gone(old, new) if about.isdisjoint(_on_keys(change))]


def _identity_of(name: str, version: GuardedVersion) -> str:
    """Return that a version needs a variable to be one certain object; empty where no guard tests it."""
    is_tested = any(isinstance(guard.test, SameObject) and guard.test.subject == name for guard in version.guards)
    return f"{name} to be {SAME_OBJECT}" if is_tested else ""


def _keys_gone(old: GuardedVersion, new: GuardedVersion) -> List[ChangedValue]:
    """Return the keys of dictionaries that a version tests the values of and that are not there any more."""
    found = []
    for name, before in old.values.keys.items():
        after = new.values.keys.get(name, before)
        for key in before:
            if key not in after and any(about.startswith(f"{name}[{key}]") for about in old.tested):
                found.append(ChangedValue(f"{key} in {name}", f"{key} in {name}", "it is", "it is not"))
    return found


def _on_keys(change: ChangedValue) -> List[str]:
    """Return what else a key that is gone is found by: the length of the dictionary, or the key itself."""
    key, _, name = change.about.rpartition(" in ")
    return [change.about, f"len({name})", f"{name}[{key}]"]


def _with_keys(change: ChangedValue, then: CompiledValues, now: CompiledValues) -> ChangedValue:
    """Name the keys that came or went where a dictionary has more or fewer of them."""
    found = _LENGTH.match(change.about)
    before, after = (values.keys.get(found[1]) if found else None for values in (then, now))
    if before is None or after is None or (str(len(before)), str(len(after))) != (change.then, change.now):
        return change
    return replace(change, now=f"{change.now}, {key_difference(before, after)}")


def _follows(change: ChangedValue, mismatch: Mismatch) -> bool:
    """Return whether it is a size that changed as the one that torch names, or another stride of the same tensor."""
    if mismatch.aspect.startswith("stride("):
        return change.about.startswith(f"{mismatch.subject}.stride(")
    return ".size(" in change.about and (change.then, change.now) == (mismatch.expected, mismatch.actual)


def _known(mismatch: Mismatch) -> Set[str]:
    """Return the values that the guard is about that torch names."""
    parts = [part for part, _ in mismatch.parts]
    known = {mismatch.about, mismatch.subject, *parts, *[switch.name for switch in mismatch.switches]}
    if mismatch.aspect == LENGTH:
        known.add(f"len({mismatch.subject})")
    known.update(f"len({part})" for part, _ in mismatch.parts if mismatch.text == f"not {part}")
    if mismatch.aspect == CONTAINS:
        known.add(mismatch.text.replace(" not in ", " in "))
    return known


def _scrubbed(change: ChangedValue) -> ChangedValue:
    return ChangedValue(*[shortened(scrub(text)) for text in (change.about, change.condition, change.then, change.now)])
