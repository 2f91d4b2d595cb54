"""What differs between CPython versions, named by behaviour. No other module tests version numbers.

`facts_for((3, 11))` returns the facts of one version; `RUNNING` are those of this interpreter.
The evidence beside each fact is the file of CPython that shows it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Dict, List, Tuple

from depyf.decompiler.bytecode.microops import NULL_FIRST, NULL_SECOND, PLAIN

Version = Tuple[int, int]

LOCATIONS, LINE_DELTAS, LINE_NUMBERS = "locations", "line deltas", "line numbers"  # forms of line tables


@dataclass(frozen=True)
class PythonFacts:
    """Behaviour of one CPython version as far as bytecode and syntax go."""

    version: Version
    # Jump arguments count bytes (1) or instructions of two bytes (2): 3.10, Python/ceval.c (JUMPBY, JUMPTO).
    jump_unit: int
    # Jumps that are not JUMP_FORWARD, FOR_ITER or SETUP_* state where they lead, not how far: before 3.11, `hasjabs` in
    # Lib/opcode.py.
    jumps_are_absolute: bool
    # Handlers are found by a stack of blocks that SETUP_FINALLY pushes onto, not by a table: before 3.11.
    blocks_are_stacked: bool
    # A handler finds six entries: traceback, value and type of what was handled before and of what was raised; as one
    # exception each from 3.11 on. Python/ceval.c, `exception_unwind`.
    handlers_find_six_values: bool
    # A `finally` body is one subroutine, entered by an exception, CALL_FINALLY or BEGIN_FINALLY, not copied: 3.7, 3.8.
    finally_is_subroutine: bool
    # Loops are blocks; `return`, `break` and `continue` are an instruction each that leaves all blocks: 3.7, ceval.c.
    loops_are_blocks: bool
    # A dict comprehension computes the value before the key: 3.7, compiler_comprehension_generator in compile.c.
    comprehensions_compute_values_first: bool
    # `for x in [a, b]` loops over a tuple, and not only if both are constants: 3.8, fold_iter in Python/ast_opt.c.
    iterated_lists_become_tuples: bool
    # The flags of `from __future__` are this many bits lower than since 3.8: Include/code.h.
    future_flags_shift: int
    # LOAD_DEREF and the like number cells and free variables apart from locals: before 3.11, Objects/codeobject.c.
    cells_are_numbered_apart: bool
    # The frame begins with RESUME, before it cells are made and free variables copied: 3.11, Python/compile.c.
    frames_begin_with_resume: bool
    # A generator begins with an instruction that drops what is sent in first: 3.10, GEN_START; from 3.11 on a POP_TOP.
    generators_have_gen_start: bool
    # `is`, `in` and the match of an exception are comparisons: 3.8, Lib/opcode.py (`cmp_op`).
    compare_has_all: bool
    # LOAD_GLOBAL's low bit asks for the NULL of a call: 3.11, Python/ceval.c.
    load_global_has_null_bit: bool
    # MAKE_FUNCTION finds the qualified name on top of the code; from 3.11 on code objects have it. Python/ceval.c.
    functions_are_named_where_made: bool
    # MATCH_KEYS and MATCH_CLASS push whether there was a match: 3.10, Python/ceval.c.
    matches_push_bool: bool
    # Where NULL is pushed for a call: Python/ceval.c, CALL. 3.11-3.12 below the callable, 3.13 above it.
    call_layout: str
    # LOAD_ATTR's low bit asks for the method pair, as LOAD_METHOD did: Python/bytecodes.c (3.12).
    load_attr_has_method_bit: bool
    # COMPARE_OP's argument holds the operator in its high bits: shift (Python/compile.c).
    compare_shift: int
    # COMPARE_OP can convert its result to bool (bit 16): 3.13.
    compare_can_convert: bool
    # POP_JUMP_IF_TRUE and _FALSE take only True or False and so cannot raise, TO_BOOL can: 3.13, Python/bytecodes.c.
    branches_need_bool: bool
    # FOR_ITER, exhausted, leads behind these instructions at its target, and the iterator is gone: 3.12 and 3.13 pop it
    # and skip them, 3.14 skips the first, and the second pops it. Python/bytecodes.c.
    loop_ends: Tuple[str, ...]
    # A generator's body lies under a handler that turns StopIteration into RuntimeError: 3.12, PEP 479 in bytecode.
    generators_wrapped_in_handler: bool
    # The argument of YIELD_VALUE (3.12) or a bit of the RESUME behind it (3.13) states that only that handler is
    # around it: `close()` then ends the generator without running handlers. Objects/genobject.c.
    yield_states_depth: bool
    resume_states_depth: bool
    resume_depth_bit: int  # 8 since 3.15: Include/internal/pycore_opcode_utils.h
    # LOAD_FAST does not test whether the variable has a value, LOAD_FAST_CHECK does: 3.12, Python/bytecodes.c.
    local_loads_are_unchecked: bool
    # There are loads of a variable that do not own what they push: 3.14, LOAD_FAST_BORROW.
    loads_may_borrow: bool
    # Default values, annotations and closure are added to a function after MAKE_FUNCTION: 3.13.
    function_attributes_are_set_after: bool
    # Annotations are computed when asked for, by a function of their own: 3.14, PEP 649. Python/codegen.c.
    annotations_are_deferred: bool
    # An iterator on the stack has another entry above it: an index, or NULL. 3.15, GET_ITER, FOR_ITER and SEND.
    iterators_have_indices: bool
    # A generator expression is called with what it loops over, and takes the iterator before its generator is made:
    # 3.15, Python/codegen.c.
    generator_expressions_iterate_first: bool
    # What a comprehension loops over is computed before its variables are put aside, and the iterator taken after that,
    # so that `[x for x in {1, 2}]` makes a set: 3.15, codegen_comprehension in Python/codegen.c.
    comprehensions_iterate_late: bool
    # IMPORT_NAME's low bits state whether the import is lazy: 3.15, PEP 810.
    imports_have_modes: bool
    # Whether an operand whose truth is certain is led past a test that leaves it on the stack (jump_thread in
    # Python/flowgraph.c). Before, such a jump was the source's own, and leading it back would change what it tests.
    kept_tests_are_threaded: bool
    # Such a test is then under no handler, so that what it raises leaves the frame: 3.14 only, Python/flowgraph.c.
    threaded_tests_lose_handlers: bool
    # `x[i]` is the BINARY_OP behind those of the operators: 3.14, NB_SUBSCR in Include/opcode.h.
    subscript_is_operator: bool
    # CALL_FUNCTION_EX finds the keyword arguments, or NULL, on top, whatever its argument: 3.14, Python/bytecodes.c.
    unpacked_calls_have_both: bool
    # A `with` keeps the exit method and, above it, the object that it is of, or NULL: 3.14, LOAD_SPECIAL.
    exits_have_receivers: bool
    # How many numbers LOAD_COMMON_CONSTANT has: Include/internal/pycore_opcode_utils.h.
    common_constants: int
    # How many numbers CALL_INTRINSIC_2 has: Include/internal/pycore_intrinsics.h.
    binary_intrinsics: int
    # YIELD_FROM's send loop lies under a CLEANUP_THROW handler: 3.12.
    send_loops_have_cleanup: bool
    # Comprehensions are inlined into the function around them: 3.12, PEP 709.
    comprehensions_are_inlined: bool
    # Displays and calls with `*x` compute all parts, then unpack them at once: 3.8, BUILD_LIST_UNPACK in ceval.c.
    displays_unpack_at_once: bool
    # A dict or set display is built at once, however large it is: before 3.10, compiler_dict in Python/compile.c.
    large_displays_are_built_at_once: bool
    # The variables of code that is dropped, as under `if False`, are in `co_varnames`: 3.10, Python/compile.c.
    dropped_code_leaves_names: bool
    # An assert statement raises what the global AssertionError is: 3.8, compiler_assert in Python/compile.c.
    asserts_read_global: bool
    # Code that returns lies where it is written; later compilers move and copy it: 3.8, Python/compile.c.
    returns_stay_in_place: bool
    # A set display of a few constants is made from a frozenset of them: 3.9, starunpack_helper in Python/compile.c.
    constant_sets_are_unpacked: bool
    # There are `match` statements: 3.10, PEP 634.
    has_match_statements: bool
    # `x.f()` is no method call where the module imports `x`: 3.11, is_import_originated in Python/compile.c.
    imported_names_have_no_methods: bool
    # `super().x` is one instruction unless the module names `super`: 3.12, can_optimize_super_call in compile.c.
    super_calls_are_fused: bool
    # f-strings may nest quotes and hold backslashes: 3.12, PEP 701.
    fstrings_nest_freely: bool
    # A class body stores the line where it begins under `__firstlineno__`: 3.13, Python/compile.c.
    classes_store_their_line: bool
    # `x[1:2]` has the slice for a constant, and files have a form for it: 3.14, Python/codegen.c and Python/marshal.c.
    slices_are_constants: bool
    # A flag states whether the first constant of a function is its docstring: 3.14, CO_HAS_DOCSTRING.
    docstrings_are_flagged: bool
    # `x[*a]` is legal: 3.11, PEP 646.
    star_in_index: bool
    # Which form the line table of a code object has: `location_table` reads them. Before 3.10 it is `co_lnotab`.
    line_table: str
    # Arguments of opcodes below this number have no meaning: HAVE_ARGUMENT in Lib/opcode.py.
    first_opcode_with_argument: int

    @property
    def null_is_first(self) -> bool:
        """Whether the NULL of a call lies below the callable."""
        return self.call_layout == NULL_FIRST

    @property
    def line_tables_have_columns(self) -> bool:
        """Whether the table of lines has the columns of instructions, too."""
        return self.line_table == LOCATIONS

    @property
    def supported(self) -> bool:
        """Whether code of this version can be decoded."""
        return self.version in _FACTS

    @property
    def runs_depyf(self) -> bool:
        """Whether depyf runs on this version, too."""
        return self.supported and self.version >= (3, 8)


_LOOP_ENDS: Dict[Version, Tuple[str, ...]] = {
    **dict.fromkeys(((3, 7), (3, 8), (3, 9), (3, 10), (3, 11)), ()),
    (3, 12): ("END_FOR",), (3, 13): ("END_FOR", "POP_TOP"),
}  # fmt: skip

_FIRST_WITH_ARGUMENT: Dict[Version, int] = {(3, 13): 44, (3, 14): 43, (3, 15): 41}


def _facts(version: Version) -> PythonFacts:
    return PythonFacts(
        version=version,
        jump_unit=1 if version < (3, 10) else 2,
        jumps_are_absolute=version < (3, 11),
        blocks_are_stacked=version < (3, 11),
        handlers_find_six_values=version < (3, 11),
        finally_is_subroutine=version < (3, 9),
        loops_are_blocks=version < (3, 8),
        comprehensions_compute_values_first=version < (3, 8),
        iterated_lists_become_tuples=version >= (3, 8),
        future_flags_shift=4 if version < (3, 8) else 0,
        cells_are_numbered_apart=version < (3, 11),
        frames_begin_with_resume=version >= (3, 11),
        generators_have_gen_start=version == (3, 10),
        compare_has_all=version < (3, 9),
        load_global_has_null_bit=version >= (3, 11),
        functions_are_named_where_made=version < (3, 11),
        matches_push_bool=version == (3, 10),
        call_layout=PLAIN if version < (3, 11) else NULL_FIRST if version < (3, 13) else NULL_SECOND,
        load_attr_has_method_bit=version >= (3, 12),
        compare_shift=0 if version < (3, 12) else 4 if version < (3, 13) else 5,
        compare_can_convert=version >= (3, 13),
        branches_need_bool=version >= (3, 13),
        loop_ends=_LOOP_ENDS.get(version, ("END_FOR", "POP_ITER")),
        generators_wrapped_in_handler=version >= (3, 12),
        yield_states_depth=(3, 12) <= version < (3, 13),
        resume_states_depth=version >= (3, 13),
        resume_depth_bit=4 if version < (3, 15) else 8,
        local_loads_are_unchecked=version >= (3, 12),
        loads_may_borrow=version >= (3, 14),
        function_attributes_are_set_after=version >= (3, 13),
        annotations_are_deferred=version >= (3, 14),
        iterators_have_indices=version >= (3, 15),
        generator_expressions_iterate_first=version >= (3, 15),
        comprehensions_iterate_late=version >= (3, 15),
        imports_have_modes=version >= (3, 15),
        kept_tests_are_threaded=version >= (3, 14),
        threaded_tests_lose_handlers=version == (3, 14),
        subscript_is_operator=version >= (3, 14),
        unpacked_calls_have_both=version >= (3, 14),
        exits_have_receivers=version >= (3, 14),
        common_constants=0 if version < (3, 14) else 5 if version < (3, 15) else 12,
        binary_intrinsics=5 if version < (3, 13) else 6,
        send_loops_have_cleanup=version >= (3, 12),
        comprehensions_are_inlined=version >= (3, 12),
        displays_unpack_at_once=version < (3, 9),
        large_displays_are_built_at_once=version < (3, 10),
        dropped_code_leaves_names=version >= (3, 10),
        asserts_read_global=version < (3, 9),
        returns_stay_in_place=version < (3, 9),
        constant_sets_are_unpacked=version >= (3, 9),
        has_match_statements=version >= (3, 10),
        imported_names_have_no_methods=version >= (3, 11),
        super_calls_are_fused=version >= (3, 12),
        fstrings_nest_freely=version >= (3, 12),
        classes_store_their_line=version >= (3, 13),
        slices_are_constants=version >= (3, 14),
        docstrings_are_flagged=version >= (3, 14),
        star_in_index=version >= (3, 11),
        line_table=LINE_NUMBERS if version < (3, 10) else LINE_DELTAS if version < (3, 11) else LOCATIONS,
        first_opcode_with_argument=_FIRST_WITH_ARGUMENT.get(version, 90),
    )


_VERSIONS = ((3, 7), (3, 8), (3, 9), (3, 10), (3, 11), (3, 12), (3, 13), (3, 14), (3, 15))  # whose code can be decoded
_FACTS: Dict[Version, PythonFacts] = {version: _facts(version) for version in _VERSIONS}
RUNNING_VERSION: Version = (sys.version_info[0], sys.version_info[1])


def facts_for(version: Version) -> PythonFacts:
    """Return the facts of `version`, whether or not its code can be decoded."""
    return _FACTS.get(version) or _facts(version)


def supported_versions() -> List[Version]:
    """Return the versions whose code can be decoded, the oldest first."""
    return sorted(_FACTS)


RUNNING = facts_for(RUNNING_VERSION)

# A dict display with more pairs, or a set display with more elements, is made empty and then filled one by one: 3.10
# and newer, STACK_USE_GUIDELINE in Python/compile.c (3.13: codegen's).
MOST_PAIRS_AT_ONCE = 15
MOST_ELEMENTS_AT_ONCE = 30
LEAST_IN_CONSTANT_SET = 3  # a set display of so many constants is made from a frozenset of them
MOST_PAIRS_IN_TURN = 17  # what comes after these is a dict of its own, which updates the first
