"""Clean the graph: a control-flow graph -> one without the compiler's copies, its protected regions found.

CPython's compiler inlines comprehensions and some calls, copies short ends, loop tests and clean-up code, leads jumps
past tests whose outcome is certain, and flattens `try` and `with` into an exception table. Here each comprehension
becomes one op, each copy is merged with its original, and each protected region gets a single entry:

    COMPREHENSION c        iterator -> the list, set or dict;  c: `Comprehension`
    NOWHERE                the end of a way that a `finally` body never lets continue
"""

from __future__ import annotations

from typing import Callable

from depyf.decompiler.bytecode.code_flags import CO_OPTIMIZED
from depyf.decompiler.clean_graph.async_loops import undo_async_loops
from depyf.decompiler.clean_graph.body_ends import merge_ends
from depyf.decompiler.clean_graph.cleanup_copies import undo_copies
from depyf.decompiler.clean_graph.copied_tails import merge_copied_tails
from depyf.decompiler.clean_graph.exception_groups import undo_exception_groups
from depyf.decompiler.clean_graph.format_checks import drop_format_check
from depyf.decompiler.clean_graph.inlined_calls import undo_inlined_calls
from depyf.decompiler.clean_graph.inlined_comprehensions import Comprehension, fold_comprehensions
from depyf.decompiler.clean_graph.protected_regions import assign_regions
from depyf.decompiler.clean_graph.region_entries import draw_returns_in, insert_guards
from depyf.decompiler.clean_graph.threaded_tests import undo_threaded_tests
from depyf.decompiler.flow.graph import Graph
from depyf.decompiler.flow.regions import ProtectedGraph

__all__ = ["Comprehension", "clean_graph"]


def clean_graph(graph: Graph, tree_of: Callable[[Graph], object]) -> ProtectedGraph:
    """Return the graph as it was before the compiler copied, inlined and flattened parts of it.

    Enters: a graph as `build_graph` returns it; it is spent. `tree_of` is called with the loop of each inlined
    comprehension, as a graph of its own, and returns its region tree: the stages from this one to `structure`, which
    the caller hands in because a comprehension has to go through all of them. Leaves: a graph in which every block
    names the regions around it and every region is entered through one Guarded block. Raises Unstructured where copies
    differ, a region has several entries, or handlers protect each other.
    """
    graph = graph.hand_over()
    drop_format_check(graph)
    undo_inlined_calls(graph)
    undo_threaded_tests(graph)
    fold_comprehensions(graph, tree_of)
    merge_copied_tails(graph)
    regions = assign_regions(graph)
    if not graph.program.code.co_flags & CO_OPTIMIZED:
        merge_ends(graph)
    undo_async_loops(graph, regions)
    undo_exception_groups(graph, regions)
    undo_copies(graph, regions)
    graph.drop_unreachable()
    draw_returns_in(graph)
    insert_guards(graph, regions)
    return ProtectedGraph(graph, tuple(regions))
