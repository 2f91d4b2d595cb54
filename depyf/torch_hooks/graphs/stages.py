"""The stages of a graph, in one table: the trace event that carries each, and the name that its files get.

A stage that torch adds, or an event that it renames, is a change of this table alone. Stages of custom backends are
not in it: they bring their own names (`custom_stages`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Tuple

from depyf.record.vocabulary import BACKWARD_GRAPH, CAPTURED_GRAPH, FORWARD_GRAPH, JOINT_GRAPH, POST_GRAD
from depyf.torch_hooks.graphs.provenance import PROVENANCE_EVENTS

# Kinds of events in torch's structured trace that other modules name.
CAPTURED_EVENT = "dynamo_output_graph"
INFERENCE_EVENT = "aot_inference_graph"
PRE_GRAD_EVENT = "before_pre_grad_graph"
POST_GRAD_EVENT = "inductor_post_grad_graph"
AUTOGRAD_EVENT = "compiled_autograd_graph"
SPLIT_PIECE_EVENT = "optimize_ddp_split_child"
KERNEL_EVENT = "inductor_output_code"
PROGRAM_EVENT = "graph_dump"  # code in another language that AOTInductor made
EARLIER = "earlier"  # in the data of an event without a compile id: about a graph compiled before the session

# Graph modules that are no stage of torch's, and have a file only if they ran.
BACKEND_GRAPH = "Backend_graph"  # a backend made it
EDITED_GRAPH = "Edited_graph"  # a backend changed the graph that it was given
MADE_BY_BACKEND = (BACKEND_GRAPH, EDITED_GRAPH)

PRE_GRAD = "BEFORE_PRE_GRAD"


@dataclass(frozen=True)
class Stage:
    """One stage of torch's: a row of the table."""

    event: str  # kind of the trace event whose payload is the graph at this stage
    name: str  # as in the file name, and as `StageRecord.stage` in the manifest
    of_piece: bool = False  # whether each piece of a split graph goes through it on its own
    opens_piece: bool = False  # whether it is what AOTAutograd makes first of a piece
    joins_pieces: bool = False  # whether this code calls the pieces of a split graph


# An inference graph has an event of its own, but is the forward graph to its reader. The post-grad graph is an
# artifact on a cold cache and an event on a warm one; `structured_trace` gives both the same kind.
STAGES: Tuple[Stage, ...] = (
    Stage(CAPTURED_EVENT, CAPTURED_GRAPH),
    Stage("aot_joint_graph", JOINT_GRAPH, of_piece=True, opens_piece=True),
    Stage("aot_forward_graph", FORWARD_GRAPH, of_piece=True),
    Stage(INFERENCE_EVENT, FORWARD_GRAPH, of_piece=True, opens_piece=True),
    Stage("aot_backward_graph", BACKWARD_GRAPH, of_piece=True),
    Stage(PRE_GRAD_EVENT, PRE_GRAD, of_piece=True),
    Stage(POST_GRAD_EVENT, POST_GRAD),
    Stage(AUTOGRAD_EVENT, "Compiled_Autograd_graph"),
    Stage("optimize_ddp_split_graph", "DDP_split_graph", joins_pieces=True),
    Stage(SPLIT_PIECE_EVENT, "DDP_split_piece"),
)
STAGE_OF_EVENT = {stage.event: stage for stage in STAGES}
AOT_EVENTS = frozenset(stage.event for stage in STAGES if stage.name in (FORWARD_GRAPH, BACKWARD_GRAPH))
STAGE_NAMES: Tuple[str, ...] = tuple(dict.fromkeys(stage.name for stage in STAGES))  # in the order of compilation

# AOTAutograd searches its cache for the graph, and finds it or not. If it does, the pre-grad passes do not
# run (torch 2.13 and 2.15; 2.9 and 2.11 run them first; all other stages come from the cache and are in the trace).
CACHE_HIT = "aotautograd_cache_hit"
CACHE_LOOKUPS = frozenset((CACHE_HIT, "aotautograd_cache_miss", "aotautograd_cache_bypass"))
# Inductor searches its own cache for the kernels of a graph. Torch 2.6 keeps no post-grad graph there, 2.8 does.
KERNEL_CACHE_HIT = "fx_graph_cache_hit"

FILE_EVENTS = frozenset(STAGE_OF_EVENT) | {KERNEL_EVENT, PROGRAM_EVENT}  # each becomes a file of its graph
GRAPH_EVENTS = FILE_EVENTS | CACHE_LOOKUPS | PROVENANCE_EVENTS | {KERNEL_CACHE_HIT}  # all that are about one graph
