"""The closed sets of words in a saved record: each word is spelled here once, and compared by its name elsewhere."""

from __future__ import annotations

from typing import Final, Literal

# -- FrameRecord.installed: the code that runs for a frame

Installed = Literal["replaced", "relabelled", "untouched"]
REPLACED: Final = "replaced"  # the decompiled code, compiled again
RELABELLED: Final = "relabelled"  # Dynamo's own, with the file and the lines of the decompiled text
UNTOUCHED: Final = "untouched"  # Dynamo's own, not linked to the file

# -- FunctionRecord.source_origin: where the text of a function comes from

SourceOrigin = Literal["file", "decompiled", "disassembly", "trace log", "missing"]
FROM_FILE: Final = "file"
DECOMPILED: Final = "decompiled"
LISTED: Final = "disassembly"  # a listing of the instructions, in comments
FROM_LOG: Final = "trace log"  # the lines that a trace log shows, each without its indentation; others are comments
MISSING: Final = "missing"

# -- FrameRecord.grade: what the prover found out, by the name of `depyf.decompiler.prove.Grade`

PROVED: Final = "PROVED"
PROVED_UNDER: Final = "PROVED_UNDER"
UNPROVED: Final = "UNPROVED"
PROVED_GRADES = (PROVED, PROVED_UNDER)

# -- FrameRecord.rung: how the text was found; all other rungs give source text

DISASSEMBLY: Final = "disassembly"

# -- LineLink.found_by: how it is known that a line of transformed code stems from a line of the user's

BY_PROOF: Final = "proof"  # the proof matched an operation on the line with an instruction that Dynamo copied
BY_BYTECODE: Final = "bytecode"  # the statement does nothing observable; it was written for such an instruction
BY_RESUME: Final = "resume"  # the line calls the resume function that continues after the user's line
BY_NAME: Final = "name"  # the line calls the function of a comprehension, whose name has the user's line
BY_GRAPH: Final = "nodes of a graph"  # the line calls a graph: in comments only, as the record has the nodes

# -- StageRecord.stage: the stages of torch's that other modules name; `graphs.stages` has the table of all

CAPTURED_GRAPH: Final = "Captured_Graph"
JOINT_GRAPH: Final = "Joint_graph"
FORWARD_GRAPH: Final = "Forward_graph"
BACKWARD_GRAPH: Final = "Backward_graph"
POST_GRAD: Final = "AFTER_POST_GRAD"  # the graph of which kernels are made
KERNEL: Final = "kernel"  # a module of kernels that runs
TRANSFORMED_CODE: Final = "transformed code"  # of a frame; no stage of a graph, but of the table of lines
CANDIDATE: Final = "candidate"  # a module that autotuning tried and did not take
AUTOTUNING: Final = "autotuning"  # the list of what autotuning tried for one operation

# -- StageRecord.made_for: which graph of AOTAutograd's a module of kernels implements

MADE_FOR_FORWARD: Final = "forward"
MADE_FOR_BACKWARD: Final = "backward"
MADE_FOR_INFERENCE: Final = "inference"

# -- StageRecord.execution: what was seen of its code in calls inside the context; empty: the backend does not run it

RAN: Final = "ran"
RECORDED: Final = "while a CUDA graph was recorded"  # or warmed up; replaying the CUDA graph runs no Python
NOT_CALLED: Final = "not called"  # the compiled graph leads to it: a call may run it
NODE_BY_NODE: Final = "node by node"  # an interpreter runs the graph, not this text
NATIVE: Final = "native"  # no Python: what is compiled of it runs
NOT_KNOWN: Final = "not known"  # read without a context, the process was killed, or Python leaves no mark

# -- SkipRecord.kind: why Dynamo left a frame to plain Python; `records.SKIP_KINDS` explains each

GRAPH_BREAK: Final = "graph break"
GRAPH_BREAK_IN_LOOP: Final = "graph break in a loop"
RECOMPILE_LIMIT: Final = "recompile limit"
DISABLED: Final = "disabled"
NO_GRAPH: Final = "no graph"
NO_TENSORS: Final = "no tensors"
GENERATOR: Final = "generator"
SKIP_LIST: Final = "skip list"
FAILED: Final = "failed"
SUPPRESSED_ERROR: Final = "suppressed error"
INTERRUPTED: Final = "interrupted"  # by Ctrl-C, or another exception that ends programs
OTHER: Final = "other"

# -- FailedGuard.kind: what its condition is; empty: what the version needs

FITS_NOW: Final = "fits now"  # no guard of the version fails by now: another thread compiled at the same time
TORCH_WORDS: Final = "torch's words"  # how torch describes the failure, not understood here

# -- how a link between a line of the user's and one of depyf's files is known; transformed code: `LineLink.found_by`

BY_STACK: Final = "the stack of the node"  # that Dynamo recorded when it captured the graph
BY_COMMENT: Final = "the comment above the node"  # of torch's, in the text of the graph
BY_SOURCE_NODES: Final = "the source nodes above the kernel"  # a comment of Inductor's
BY_PROVENANCE: Final = "torch's provenance tracking"
BY_GRAPH_CALL: Final = "the call of the graph"  # the line of transformed code that calls the graph with the node
