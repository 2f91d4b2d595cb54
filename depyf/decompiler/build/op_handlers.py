"""The tables of handlers: which function executes each micro-op, and each node of the region tree.

A new micro-op gets its handler in FUNCTION (docs/recipes.md, "A new opcode").
"""

from __future__ import annotations

from depyf.decompiler.build import (
    assignments,
    boolean_tests,
    calls,
    comprehension_frames,
    container_displays,
    control_flow,
    definitions,
    imports,
    loads,
    match_statements,
    namespace_ops,
    operators,
    state_loops,
    type_parameter_scopes,
    unpacked_displays,
    unpacking,
)
from depyf.decompiler.build.symbolic_frame import Handlers, Tables
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
    "POP": loads.op_pop,
    "COPY": loads.op_copy,
    "SWAP": assignments.op_swap,
    "PUSH_NULL": loads.op_push_null,
    "CONST": loads.op_const,
    # variables
    "LOAD_LOCAL": loads.op_load_local,
    "LOAD_CELL": loads.op_load_cell,
    "LOAD_CLOSURE": loads.op_load_closure,
    "LOAD_GLOBAL": loads.op_load_global,
    "LOAD_NAME": loads.op_load_global,
    "LOAD_CLASS_CELL": loads.op_load_class_cell,
    "LOAD_LOCALS": loads.op_load_locals,
    "LOAD_FROM_MAPPING_OR_GLOBAL": loads.op_load_from_mapping,
    "LOAD_FROM_MAPPING_OR_CELL": loads.op_load_from_mapping,
    "LOAD_ASSERTION_ERROR": loads.op_load_assertion_error,
    "STORE_LOCAL": assignments.op_store_variable,
    "STORE_CELL": assignments.op_store_variable,
    "STORE_GLOBAL": assignments.op_store_variable,
    "STORE_NAME": assignments.op_store_variable,
    "DELETE_LOCAL": loads.op_delete_variable,
    "DELETE_CELL": loads.op_delete_variable,
    "DELETE_GLOBAL": loads.op_delete_variable,
    "DELETE_NAME": loads.op_delete_variable,
    # attributes and items
    "LOAD_ATTR": loads.op_load_attr,
    "LOAD_SUPER_ATTR": loads.op_load_super_attr,
    "STORE_ATTR": assignments.op_store_attr,
    "DELETE_ATTR": loads.op_delete_attr,
    "SUBSCR": loads.op_subscr,
    "STORE_SUBSCR": assignments.op_store_subscr,
    "DELETE_SUBSCR": loads.op_delete_subscr,
    "UNPACK": unpacking.op_unpack,
    "UNPACK_EX": unpacking.op_unpack,
    # operators and tests
    "UNARY": operators.op_unary,
    "BINARY": operators.op_binary,
    "INPLACE": operators.op_inplace,
    "COMPARE": operators.op_compare,
    "IS": operators.op_is,
    "CONTAINS": operators.op_contains,
    "TO_BOOL": operators.op_to_bool,
    "CHAIN": boolean_tests.op_chain,
    "BOOL": boolean_tests.op_bool,
    "SELECT": boolean_tests.op_select,
    # displays and strings
    "BUILD_LIST": container_displays.op_build_sequence,
    "BUILD_TUPLE": container_displays.op_build_sequence,
    "BUILD_UNPACKED": unpacked_displays.op_build_unpacked,
    "BUILD_SET": container_displays.op_build_set,
    "BUILD_MAP": container_displays.op_build_map,
    "BUILD_CONST_KEY_MAP": container_displays.op_build_const_key_map,
    "BUILD_SLICE": container_displays.op_build_slice,
    "BUILD_STRING": container_displays.op_build_string,
    "CONVERT": container_displays.op_convert,
    "FORMAT": container_displays.op_format,
    "BUILD_INTERPOLATION": container_displays.op_build_interpolation,
    "BUILD_TEMPLATE": container_displays.op_build_template,
    "LIST_TO_TUPLE": container_displays.op_list_to_tuple,
    "LIST_EXTEND": container_displays.op_list_extend,
    "LIST_APPEND": container_displays.op_list_append,
    "SET_ADD": container_displays.op_set_add,
    "SET_UPDATE": container_displays.op_set_update,
    "DICT_UPDATE": container_displays.op_dict_update,
    "DICT_MERGE": container_displays.op_dict_update,
    "MAP_ADD": container_displays.op_map_add,
    "COMPREHENSION": comprehension_frames.op_comprehension,
    # calls, definitions and imports
    "CALL": calls.op_call,
    "CALL_EX": calls.op_call_ex,
    "MAKE_FUNCTION": definitions.op_make_function,
    "LOAD_BUILD_CLASS": definitions.op_load_build_class,
    "INTRINSIC": type_parameter_scopes.op_intrinsic,
    "IMPORT_NAME": imports.op_import_name,
    "IMPORT_NAME_BY_MODE": imports.op_import_name,
    "LAZY_IMPORT_NAME": imports.op_import_name,
    "IMPORT_FROM": imports.op_import_from,
    "IMPORT_STAR": imports.op_import_star,
    # iteration and generators
    "GET_ITER": operators.op_get_iter,
    "GET_AITER": operators.op_get_aiter,
    "GET_YIELD_FROM_ITER": operators.op_get_yield_from_iter,
    "GET_AWAITABLE": operators.op_get_awaitable,
    "YIELD_FROM": operators.op_yield_from,
    "YIELD": operators.op_yield,
    # ends, exceptions and the rest
    "RETURN": operators.op_return,
    "RAISE": operators.op_raise,
    "RERAISE": operators.op_reraise,
    "POP_EXCEPT": operators.op_pop_except,
    "NOWHERE": operators.op_nowhere,
    "BEFORE_WITH": control_flow.op_before_with,
    "BEFORE_ASYNC_WITH": control_flow.op_before_with,
    "SETUP_ANNOTATIONS": namespace_ops.op_setup_annotations,
    "PRINT_EXPR": operators.op_print_expr,
}
# What earlier stages turn into nodes of the region tree or into other ops.
for _kind in (
    "LOAD_LOCAL_AND_CLEAR", "SAVE_CELL", "RENEW_CELL", "RESTORE_CELL", "GET_ANEXT", "END_ASYNC_FOR", "PUSH_EXC_INFO",
    "CHECK_EXC_MATCH", "CHECK_EG_MATCH", "PREP_RERAISE_STAR", "WITH_EXCEPT_START", "GET_LEN", "MATCH_MAPPING",
    "MATCH_SEQUENCE", "MATCH_KEYS", "MATCH_CLASS", "CLEANUP_THROW", "MAP_ADD_VALUE_FIRST",
):  # fmt: skip
    FUNCTION[_kind] = operators.op_unsupported

NAMESPACE: Handlers = {
    **FUNCTION,
    "LOAD_GLOBAL": namespace_ops.op_load_declared_global,
    "LOAD_CELL": type_parameter_scopes.op_load_type_parameters,
    "STORE_LOCAL": namespace_ops.op_store_name,
    "STORE_CELL": namespace_ops.op_store_name,
    "STORE_GLOBAL": namespace_ops.op_store_name,
    "STORE_NAME": namespace_ops.op_store_name,
    "STORE_SUBSCR": namespace_ops.op_store_annotation,
    "SET_ADD": namespace_ops.op_mark_annotation,
    "RETURN": namespace_ops.op_end_body,
}

GENERIC: Handlers = {
    **FUNCTION,
    "LOAD_LOCAL": type_parameter_scopes.op_load_given,
    "LOAD_CELL": type_parameter_scopes.op_load_type_parameters,
    "LOAD_FROM_MAPPING_OR_GLOBAL": type_parameter_scopes.op_load_parameters_from_mapping,
    "LOAD_FROM_MAPPING_OR_CELL": type_parameter_scopes.op_load_parameters_from_mapping,
    "STORE_LOCAL": type_parameter_scopes.op_store_type_parameter,
    "STORE_CELL": type_parameter_scopes.op_store_type_parameter,
    "RETURN": type_parameter_scopes.op_return_generic,
}

COMPREHENSION: Handlers = {
    **FUNCTION,
    "LIST_APPEND": comprehension_frames.op_collect_in_list,
    "SET_ADD": comprehension_frames.op_collect_in_set,
    "MAP_ADD": comprehension_frames.op_collect_in_dict,
    "MAP_ADD_VALUE_FIRST": comprehension_frames.op_collect_value_first,
    "LIST_EXTEND": comprehension_frames.op_collect_unpacked,
    "SET_UPDATE": comprehension_frames.op_collect_unpacked,
    "DICT_UPDATE": comprehension_frames.op_collect_unpacked,
    "BUILD_SET": comprehension_frames.op_start_set,
    "YIELD": comprehension_frames.op_collect_yielded,
}

ANNOTATIONS: Handlers = {
    **FUNCTION,
    "BUILD_MAP": namespace_ops.op_start_annotations,
    "COPY": namespace_ops.op_copy_annotations,
    "STORE_SUBSCR": namespace_ops.op_compute_annotation,
    "RETURN": namespace_ops.op_return_annotations,
}

TABLES = Tables(
    function=FUNCTION,
    namespace=NAMESPACE,
    generic=GENERIC,
    comprehension=COMPREHENSION,
    annotations=ANNOTATIONS,
    regions={
        IfNode: control_flow.if_statement,
        LoopNode: control_flow.loop_statement,
        TryNode: control_flow.try_statement,
        WithNode: control_flow.with_statement,
        CaseNode: match_statements.match_statement,
        Leave: control_flow.leave_loop,
        MachineNode: state_loops.state_machine,
        Goto: state_loops.go_to_state,
        Settle: state_loops.name_stack,
        Expect: state_loops.expect_state,
    },
    name_slots=unpacking.name_slots,
    write_definition=definitions.write_definition,
)
