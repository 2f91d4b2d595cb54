"""The statements being written, and the names that they bind for values of the stack."""

from __future__ import annotations

from typing import Collection, Dict, FrozenSet, List, Sequence

from depyf.decompiler import syntax as s
from depyf.decompiler.build.variable_names import FreshNames


class Output:
    """The body being written; `region_walk.build_part` swaps in the list of each body inside a statement."""

    __slots__ = ("body", "offset", "falls", "names", "temporaries", "better_names", "generated", "own_targets")

    def __init__(self, names: FreshNames, generated: Collection[str] = ()) -> None:
        self.body: List[s.Statement] = []
        self.offset = -1  # of the micro-op or region being executed: the origin of the statements written for it
        self.falls = True  # whether control reaches the end of what was written so far
        self.names = names
        self.temporaries: Dict[str, None] = {}  # names of values that the original keeps on its stack, in order
        self.better_names: Dict[str, str] = {}  # temporary -> what a function that takes it calls it
        self.generated: FrozenSet[str] = frozenset(generated)  # locals that a code generator added to the user's
        self.own_targets: List[s.Expression] = []  # of the last `del` that was written, if all of them are ours

    def new_name(self, node: s.Expression) -> str:
        """Return a name for a new temporary that holds the value of `node`."""
        name = self.names.fresh(node)
        self.temporaries[name] = None
        return name

    def delete(self, names: Sequence[str]) -> None:
        """Unbind temporaries after their last use, where the original pops them."""
        targets: List[s.Expression] = [s.Name(name) for name in dict.fromkeys(names)]
        last = self.body[-1] if self.body else None
        are_ours = self.generated.issuperset(names) or all(
            name in self.temporaries or name in self.generated for name in names
        )
        if are_ours and isinstance(last, s.Delete) and last.targets is self.own_targets:
            self.own_targets.extend(targets)
        else:
            self.body.append(s.Delete(targets, origin=-1 if are_ours else self.offset))
            self.own_targets = targets if are_ours else []
