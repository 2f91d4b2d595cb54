"""Build: a region tree of micro-ops -> the statements of a syntax tree.

What enters: the `Program` of one code object and its region tree (`structure`), whose leaves are micro-ops. What
leaves: a list of statements, the body of that code object; those of code objects inside it stand in its definitions.
What no statement can spell raises `Unstructured`, and the ladder takes its next rung.

A code object is executed symbolically, like CPython's own interpreter would run it, on expressions in place of
objects. Its state is a `Frame` (symbolic_frame) of three objects, each with one job:

- `OperandStack` (operand_stack): the values on the stack (symbolic_values) and, in `pending`, those whose effect has
  happened and is not written yet, in the order in which it happened.
- `Output` (statement_output): the body being written, the temporaries that it binds, and whether control falls
  through its end. `region_walk.build_part` swaps in another list for each body inside a statement.
- `Scope` (scope): how the variables of the code object are spelled, which need a declaration, and which reads have no
  effect.

Handlers are plain functions in tables (op_handlers): `handlers[op.kind](frame, op)` executes a micro-op,
`regions[type(node)](frame, node)` a node of the region tree. There are four tables of handlers. Those of modules and
class bodies, of the functions that make type parameters, and of comprehensions are that of functions with some
entries replaced. A frame has the table of its kind of code object, and hands all of them to the frames inside it. So
modules import one another in one direction, and what has to reach upwards does so through `frame.tables`.

The order of effects. An operation is *silent* (a constant, a read of a bound local, a fresh list) or an *event* (a
call, an attribute, an operator). A silent one pushes a value, an event pushes a value and appends it to `pending`.
Only `effects` takes values off `pending`: `take` returns the expressions of popped values if they are the last ones
pending, in order. Otherwise it first writes everything up to them as assignments to temporaries. `emit` writes
everything pending before its statement. So a value that is used once is inlined, one that is used twice or after
another effect gets a name, and the order of effects is right by construction: no handler can get it wrong, nor has to
think of it. Temporaries are deleted after their last use (`killed`), where the original pops the value.

The order of the work for one code object (function_bodies): `walk` executes the region tree, statement by statement,
as generators run by a trampoline; `resolve` replaces the references to values by their names or expressions; `tidying`
rewrites statements as a person would write them; `variable_names` gives temporaries better names; docstring and
declarations come first.
"""

from depyf.decompiler.build.builder import annotation_nodes, build_statements, standalone_comprehension
from depyf.decompiler.build.comprehension_nodes import COMPREHENSIONS
from depyf.decompiler.build.constant_nodes import value_node
from depyf.decompiler.build.expression_forms import as_expression
from depyf.decompiler.build.parameter_lists import docstring_of, parameters
from depyf.decompiler.build.private_names import mangled
from depyf.decompiler.build.scope import Settings
from depyf.decompiler.build.tidying import own_statements
from depyf.decompiler.build.type_parameter_scopes import type_parameters

__all__ = [
    "COMPREHENSIONS",
    "Settings",
    "annotation_nodes",
    "as_expression",
    "build_statements",
    "docstring_of",
    "mangled",
    "own_statements",
    "parameters",
    "standalone_comprehension",
    "type_parameters",
    "value_node",
]
