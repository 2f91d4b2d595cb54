"""The tables of handlers: which function executes each micro-op, and each node of the region tree.

A new micro-op gets its handler in FUNCTION (docs/recipes.md, "A new opcode").
"""

from __future__ import annotations

from depyf.decompiler.build.assignments import op_store_attr, op_store_subscr, op_store_variable, op_swap
from depyf.decompiler.build.boolean_tests import op_bool, op_chain, op_select
from depyf.decompiler.build.calls import op_call, op_call_ex
from depyf.decompiler.build.comprehension_frames import (
    op_collect_in_dict,
    op_collect_in_list,
    op_collect_in_set,
    op_collect_yielded,
    op_comprehension,
    op_start_set,
)
from depyf.decompiler.build.container_displays import (
    op_build_const_key_map,
    op_build_map,
    op_build_sequence,
    op_build_set,
    op_build_slice,
    op_build_string,
    op_convert,
    op_dict_update,
    op_format,
    op_list_append,
    op_list_extend,
    op_list_to_tuple,
    op_map_add,
    op_set_add,
    op_set_update,
)
from depyf.decompiler.build.control_flow import (
    if_statement,
    leave_loop,
    loop,
    op_before_with,
    try_statement,
    with_statement,
)
from depyf.decompiler.build.definitions import op_load_build_class, op_make_function, write_definition
from depyf.decompiler.build.imports import op_import_from, op_import_name, op_import_star
from depyf.decompiler.build.loads import (
    op_const,
    op_copy,
    op_delete_attr,
    op_delete_subscr,
    op_delete_variable,
    op_load_assertion_error,
    op_load_attr,
    op_load_cell,
    op_load_class_cell,
    op_load_closure,
    op_load_from_mapping,
    op_load_global,
    op_load_local,
    op_load_locals,
    op_load_super_attr,
    op_pop,
    op_push_null,
    op_subscr,
)
from depyf.decompiler.build.match_statements import match_statement
from depyf.decompiler.build.namespaces import (
    op_end_body,
    op_load_declared_global,
    op_setup_annotations,
    op_store_annotation,
    op_store_name,
)
from depyf.decompiler.build.operators import (
    op_binary,
    op_compare,
    op_contains,
    op_get_aiter,
    op_get_awaitable,
    op_get_iter,
    op_get_yield_from_iter,
    op_inplace,
    op_is,
    op_nowhere,
    op_pop_except,
    op_print_expr,
    op_raise,
    op_reraise,
    op_return,
    op_to_bool,
    op_unary,
    op_unsupported,
    op_yield,
    op_yield_from,
)
from depyf.decompiler.build.state_loops import expect_state, go_to_state, name_stack, state_machine
from depyf.decompiler.build.symbolic_frame import Handlers, Tables
from depyf.decompiler.build.type_parameter_scopes import (
    op_intrinsic,
    op_load_given,
    op_load_parameters_from_mapping,
    op_load_type_parameters,
    op_return_generic,
    op_store_type_parameter,
)
from depyf.decompiler.build.unpacking import name_slots, op_unpack
from depyf.decompiler.structure import (
    CaseNode,
    Expect,
    Goto,
    IfNode,
    Leave,
    LoopNode,
    MachineNode,
    Settle,
    TryNode,
    WithNode,
)

FUNCTION: Handlers = {
    "POP": op_pop, "COPY": op_copy, "SWAP": op_swap, "PUSH_NULL": op_push_null, "CONST": op_const,
    # variables
    "LOAD_LOCAL": op_load_local, "LOAD_CELL": op_load_cell, "LOAD_CLOSURE": op_load_closure,
    "LOAD_GLOBAL": op_load_global, "LOAD_NAME": op_load_global, "LOAD_CLASS_CELL": op_load_class_cell,
    "LOAD_LOCALS": op_load_locals, "LOAD_FROM_MAPPING_OR_GLOBAL": op_load_from_mapping,
    "LOAD_FROM_MAPPING_OR_CELL": op_load_from_mapping, "LOAD_ASSERTION_ERROR": op_load_assertion_error,
    "STORE_LOCAL": op_store_variable, "STORE_CELL": op_store_variable, "STORE_GLOBAL": op_store_variable,
    "STORE_NAME": op_store_variable, "DELETE_LOCAL": op_delete_variable, "DELETE_CELL": op_delete_variable,
    "DELETE_GLOBAL": op_delete_variable, "DELETE_NAME": op_delete_variable,
    # attributes and items
    "LOAD_ATTR": op_load_attr, "LOAD_SUPER_ATTR": op_load_super_attr, "STORE_ATTR": op_store_attr,
    "DELETE_ATTR": op_delete_attr, "SUBSCR": op_subscr, "STORE_SUBSCR": op_store_subscr,
    "DELETE_SUBSCR": op_delete_subscr, "UNPACK": op_unpack, "UNPACK_EX": op_unpack,
    # operators and tests
    "UNARY": op_unary, "BINARY": op_binary, "INPLACE": op_inplace, "COMPARE": op_compare, "IS": op_is,
    "CONTAINS": op_contains, "TO_BOOL": op_to_bool, "CHAIN": op_chain, "BOOL": op_bool, "SELECT": op_select,
    # displays and strings
    "BUILD_LIST": op_build_sequence, "BUILD_TUPLE": op_build_sequence, "BUILD_SET": op_build_set,
    "BUILD_MAP": op_build_map, "BUILD_CONST_KEY_MAP": op_build_const_key_map, "BUILD_SLICE": op_build_slice,
    "BUILD_STRING": op_build_string, "CONVERT": op_convert, "FORMAT": op_format, "LIST_TO_TUPLE": op_list_to_tuple,
    "LIST_EXTEND": op_list_extend, "LIST_APPEND": op_list_append, "SET_ADD": op_set_add, "SET_UPDATE": op_set_update,
    "DICT_UPDATE": op_dict_update, "DICT_MERGE": op_dict_update, "MAP_ADD": op_map_add,
    "COMPREHENSION": op_comprehension,
    # calls, definitions and imports
    "CALL": op_call, "CALL_EX": op_call_ex, "MAKE_FUNCTION": op_make_function,
    "LOAD_BUILD_CLASS": op_load_build_class, "INTRINSIC": op_intrinsic, "IMPORT_NAME": op_import_name,
    "IMPORT_FROM": op_import_from, "IMPORT_STAR": op_import_star,
    # iteration and generators
    "GET_ITER": op_get_iter, "GET_AITER": op_get_aiter, "GET_YIELD_FROM_ITER": op_get_yield_from_iter,
    "GET_AWAITABLE": op_get_awaitable, "YIELD_FROM": op_yield_from, "YIELD": op_yield,
    # ends, exceptions and the rest
    "RETURN": op_return, "RAISE": op_raise, "RERAISE": op_reraise, "POP_EXCEPT": op_pop_except,
    "NOWHERE": op_nowhere, "BEFORE_WITH": op_before_with, "BEFORE_ASYNC_WITH": op_before_with,
    "SETUP_ANNOTATIONS": op_setup_annotations, "PRINT_EXPR": op_print_expr,
}  # fmt: skip
# What earlier stages turn into nodes of the region tree or into other ops.
for _kind in (
    "LOAD_LOCAL_AND_CLEAR", "SAVE_CELL", "RENEW_CELL", "RESTORE_CELL", "GET_ANEXT", "END_ASYNC_FOR", "PUSH_EXC_INFO",
    "CHECK_EXC_MATCH", "CHECK_EG_MATCH", "PREP_RERAISE_STAR", "WITH_EXCEPT_START", "GET_LEN", "MATCH_MAPPING",
    "MATCH_SEQUENCE", "MATCH_KEYS", "MATCH_CLASS", "CLEANUP_THROW",
):  # fmt: skip
    FUNCTION[_kind] = op_unsupported

NAMESPACE: Handlers = {
    **FUNCTION,
    "LOAD_GLOBAL": op_load_declared_global,
    "LOAD_CELL": op_load_type_parameters,
    "STORE_LOCAL": op_store_name,
    "STORE_CELL": op_store_name,
    "STORE_GLOBAL": op_store_name,
    "STORE_NAME": op_store_name,
    "STORE_SUBSCR": op_store_annotation,
    "RETURN": op_end_body,
}

GENERIC: Handlers = {
    **FUNCTION,
    "LOAD_LOCAL": op_load_given,
    "LOAD_CELL": op_load_type_parameters,
    "LOAD_FROM_MAPPING_OR_GLOBAL": op_load_parameters_from_mapping,
    "LOAD_FROM_MAPPING_OR_CELL": op_load_parameters_from_mapping,
    "STORE_LOCAL": op_store_type_parameter,
    "STORE_CELL": op_store_type_parameter,
    "RETURN": op_return_generic,
}

COMPREHENSION: Handlers = {
    **FUNCTION,
    "LIST_APPEND": op_collect_in_list,
    "SET_ADD": op_collect_in_set,
    "MAP_ADD": op_collect_in_dict,
    "BUILD_SET": op_start_set,
    "YIELD": op_collect_yielded,
}

TABLES = Tables(
    function=FUNCTION,
    namespace=NAMESPACE,
    generic=GENERIC,
    comprehension=COMPREHENSION,
    regions={
        IfNode: if_statement,
        LoopNode: loop,
        TryNode: try_statement,
        WithNode: with_statement,
        CaseNode: match_statement,
        Leave: leave_loop,
        MachineNode: state_machine,
        Goto: go_to_state,
        Settle: name_stack,
        Expect: expect_state,
    },
    name_slots=name_slots,
    write_definition=write_definition,
)
