"""The summary names the line that was planted in a program, and the true cause, in words that nobody reads wrong."""

from __future__ import annotations

import importlib.util
import sys

import pytest
import torch_probes as probes
import traced_features as features
from support.planted_programs import PROGRAMS, SOMELIB

torch = pytest.importorskip("torch")

import depyf  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def somelib(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library") / "site-packages"
    folder.mkdir()
    (folder / "somelib.py").write_text(SOMELIB)
    sys.path.insert(0, str(folder))
    yield
    sys.path.remove(str(folder))
    sys.modules.pop("somelib", None)


def summary_of(name, text, folder, capsys):
    """Run the program; return its path and the summary."""
    path = folder / f"planted_{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    torch._dynamo.reset()
    try:
        spec.loader.exec_module(module)
        capsys.readouterr()
        with depyf.prepare_debug(folder / "dump", include_earlier=False) as context:
            module.main(lambda function, **options: torch.compile(function, backend="eager", **options))
    finally:
        del sys.modules[path.stem]
    assert not context.record.problems
    return path, capsys.readouterr().err


# Programs that an older torch compiles in another way: a function that finds out, and what is missing.
TRACED = {
    "own_iterator": (features.own_iterators, "tracing of iterators of the program's own"),
    "cached_helper": (features.cached_functions, "tracing of what functools.lru_cache is put around"),
    "exception_observed": (features.exceptions, "tracing of exceptions"),
    "func_grad": (features.transforms, "tracing of torch.func.grad"),
    "function_of_torch_grad": (features.transforms, "tracing of torch.func.grad"),
    "dictionary_in_kwargs": (features.reads_values_late, "guard on an item at the line that uses it"),
    "default_argument": (features.reads_defaults_late, "guard on a default argument at the line that uses it"),
    **dict.fromkeys(
        ("attribute", "attribute_of_a_part", "class_attribute", "module_list_grows", "buffer_that_is_set"),
        (features.guards_attributes, "guard on the attributes of modules: it does not compile again"),
    ),
}
# Words of torch's -> the module that has them, and which part of them: others explain the same in fewer words.
TORCH_WORDS = {
    "builtin operator `print`": ("variables.builtin", "trace builtin operator"),
    "builtin operator `open`": ("variables.builtin", "trace builtin operator"),
    "Data-dependent branching": ("symbolic_convert", "Data-dependent branching"),
    "Tensor.item()": ("variables.tensor", "tracing `Tensor.item()`"),
    "`torch.compiler.disable()`d function": ("variables.functions", "`torch.compiler.disable()`d function"),
    "Dynamo does not know how to trace the builtin `time.time.`": ("variables.functions", "how to trace the builtin"),
    "logging.Logger method": ("variables.misc", "logging.Logger method not supported for"),
    "Module-level backwards hooks require compiled autograd": ("variables.distributed", "Module-level backwards hooks"),
    "torch._dynamo.config.compiled_autograd = True": ("variables.distributed", "Module-level backwards hooks"),
    "Observed exception: ValueError": ("symbolic_convert", "Observed exception (EXCEPT_HANDLER)"),
    "Observed exception: ValueError('too long')": ("symbolic_convert", "{curr_exc.debug_repr()}"),
    "reached from {here}:7: return scaled(x) + 1": ("guards", "User stack trace:"),
    "inside torch.utils.checkpoint.checkpoint": ("exc", "Higher Order Operator: "),
    "inside autograd.Function": ("exc", "Higher Order Operator: "),
}
# Programs in which an older torch does, or names, something else.
NEEDS = {
    "backward_hook": (probes.NAMES_OPERATORS, "tracing of hooks"),
    "cond": (probes.NAMES_OPERATORS, "line for a graph break inside an operator"),
    "train_eval_only": (probes.GUARDS_HAVE_STACKS, "calls that led to a guard"),
    "unnamed_scope": (probes.GUARDS_HAVE_STACKS, "calls that led to a guard"),
    "parameter_replaced": (probes.GUARDS_HAVE_STACKS, "calls that led to a guard"),
    "closure_of_a_lambda": (probes.GUARDS_HAVE_STACKS, "calls that led to a guard"),
    "autocast": (probes.PRINTS_SWITCHES, "values of its switches in guards"),
    "default_dtype": (probes.PRINTS_SWITCHES, "values of its switches in guards"),
    "num_threads": (probes.PRINTS_SWITCHES, "values of its switches in guards"),
    "frozen_parameter": (probes.PRINTS_SWITCHES, "guard on requires_grad of a parameter"),
    "torch_function_mode": (probes.GUARDS_MODES, "guard on function modes: it does not compile again"),
    "device_context": (probes.GUARDS_MODES, "guard on function modes: it does not compile again"),
    "subclass_metadata": (probes.GUARDS_METADATA, "guard on the metadata of subclasses: it does not compile again"),
    "size_used_in_a_library": (probes.GUARDS_WEIGHTS, "recompile for another module, which it guards by its identity"),
    "yield_from": (probes.REPORTS_SKIPS, "line for a graph break inside a generator"),
    "custom_context_manager": (probes.REPORTS_SKIPS, "line for a graph break inside a context manager"),
    "marked_dynamic": (probes.EXPLAINS_BREAKS, "line for a size that was to be dynamic"),
    "hook_removed": (probes.GUARDS_WEIGHTS, "line of the program for the hooks of its modules"),
    "operator_overload": (probes.EXPLAINS_OPERATORS, "reason for a graph break in an operator of the program's own"),
    "func_grad": (probes.REPORTS_SKIPS or not probes.EXPLAINS_BREAKS, "sound tracing of torch.func.grad"),
}
# Programs whose causes older torch words, or finds, in other ways.
NEEDS.update(
    dict.fromkeys(
        ("getattr_fallback", "getattr_with_a_break", "mutable_default", "kwargs_order", "nested_autograd_functions", "contextmanager_exit", "strides_in_a_batch", "checkpoint_and_a_flag", "environment_variable", "numpy_array", "callable_object", "method_replaced_on_the_instance", "deque_length", "nan_argument", "int_enum_in_a_dict", "two_sizes_related", "size_in_a_part", "batch_of_one", "view_or_not", "callable_hook_on_a_module", "two_modules_of_one_method_name", "generator_function_breaks", "property_of_a_dataclass", "vmap_over_a_helper", "checkpoint_with_kwargs", "context_manager_changes_a_global", "closure_over_a_list", "subclass_with_torch_function", "keyword_only_dtype", "setter_in_a_loop_of_modules", "autograd_function_with_a_helper", "rank_of_a_tensor_in_a_dict", "memory_format", "break_in_a_decorated_method", "to_list_in_a_comprehension", "number_of_calls_on_self"),
        (probes.PRINTS_SWITCHES, "guards in these words"),
    )
)
# Programs that some torch do not compile again, though what they read has changed.
UNGUARDED = {"counter_of_a_class": probes.guards_class_constants, "member_of_a_set": probes.guards_sets}
# Programs whose summary may name a call of the program's that is further out, as Dynamo's code has no lines of it.
NAMES_OUTER_CALL = ("forward_calls_library_forward", "module_direct_forward")


def writes(words):
    """Return whether this torch has these words, if they are torch's."""
    module, part = TORCH_WORDS.get(words, ("", ""))
    return not module or part in probes.source_of(f"torch._dynamo.{module}")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_summary_names_the_planted_line_and_the_true_cause(name, tmp_path, capsys):
    is_traced, missing = TRACED.get(name, (bool, ""))
    if missing and not is_traced():
        pytest.skip(f"this torch has no {missing}")
    offered, what = NEEDS.get(name, (True, ""))
    if not offered:
        pytest.skip(f"this torch has no {what}")
    if name in UNGUARDED and not UNGUARDED[name]():
        pytest.skip("this torch has no guard on it: it does not compile again, without depyf, too")
    if name == "partial_method" and not probes.traces_partial_methods():
        pytest.skip("this torch raises InternalTorchDynamoError for functools.partialmethod, without depyf, too")
    planted = PROGRAMS[name]
    path, summary = summary_of(name, planted.text, tmp_path, capsys)
    lines = [number for number, line in enumerate(planted.text.splitlines(), 1) if line.endswith("# planted")]
    for number in lines:
        assert f"{path}:{number}: " in summary, "the planted line"
    for words in planted.must:
        either = (words,) if isinstance(words, str) else words
        if writes(either[0]):
            assert any(one.replace("{here}", str(path)) in summary for one in either), either
    is_exact = probes.COPIES_POSITIONS or name not in NAMES_OUTER_CALL
    for words in (*(planted.must_not if is_exact else ()), "Encountered graph break when attempting", "Please open an issue", "did not fit"):
        assert words.replace("{here}", str(path)) not in summary
