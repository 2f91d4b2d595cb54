"""The global names by which transformed code calls its graphs, and the captured graph behind each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterator

from depyf.torch_hooks.graphs.reachability import is_handed_over, reachable_code
from depyf.torch_hooks.internals import private_hooks
from depyf.torch_hooks.internals.stable_names import GRAPH_NAME, without_random_id


@dataclass(frozen=True)
class GraphGlobal:
    """One name in one namespace."""

    scope: Dict[str, Any]
    name: str
    entry: Any  # what is called
    graph: str  # the name of the graph in the files

    def captured_module(self) -> Any:
        """Return the graph that Dynamo captured; None where nothing leads to it any more."""
        modules = reachable_code(self.entry).modules
        return next((module for module in modules if is_handed_over(module)), None)

    def replace(self, entry: Any) -> None:
        """Have the name lead to `entry`."""
        self.scope[self.name] = entry

    def put_back(self, replaced_by: Any) -> None:
        """Have the name lead to the graph again, unless somebody else has replaced it."""
        if self.scope.get(self.name) is replaced_by:
            self.scope[self.name] = self.entry


def graph_globals() -> Iterator[GraphGlobal]:
    """Yield the names that Dynamo has installed for graphs, of all functions that are compiled now."""
    manager = private_hooks.find("cleanup_manager")
    for cleanups in list(getattr(manager, "values", {}).values()):
        for cleanup in cleanups:
            name, scope = getattr(cleanup, "name", ""), getattr(cleanup, "scope", {})
            graph = without_random_id(name)
            if GRAPH_NAME.match(graph) and callable(scope.get(name)):
                yield GraphGlobal(scope, name, scope[name], graph)
