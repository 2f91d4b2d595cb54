"""Guards of layers that are made from those of another layer: the same as if torch's lines were read one by one."""

import pytest

from depyf.record.guard_list import GuardList, LayerGuards
from depyf.torch_hooks.guards import guard_tree
from depyf.torch_hooks.guards.guard_tree import describe_guards
from depyf.torch_hooks.guards.layers import KnownLayer


def forward(self, x): ...


def _tree(rows):
    """Print rows of (kind, condition, source, type) as torch does."""
    lines = ["+- RootGuardManager"]
    for kind, condition, source, type_name in rows:
        lines.append(f"| +- GuardManager: source={source}, accessed_by=x, type=<class '{type_name}'>")
        lines.append(f"| | +- {kind}: {condition}")
    return "TREE_GUARD_MANAGER:\n" + "\n".join(lines)


def _layer(number, size=16, type_name="torch.nn.modules.linear.Linear", comment="# y = self.a(x)  # model.py:3 in f"):
    layer = f"L['self']._modules['blocks']._modules['{number}']"
    weight = f"{layer}._modules['a']._parameters['weight']"
    keys = "DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU)"
    tensor = f"Parameter, {keys}, torch.float32, device=None, requires_grad=True, size=[{size}, 4], stride=[4, 1]"
    parameter = "torch.nn.parameter.Parameter"
    return [
        ("TYPE_MATCH", f"___check_type_id({layer}, 94000000), type=<class '{type_name}'>  {comment}", layer, type_name),
        ("DICT_CONTAINS", f"not ___dict_contains('forward', {layer}.__dict__)  {comment}", f"{layer}.__dict__", "dict"),
        ("EQUALS_MATCH", f"{layer}._modules['a'].eps == 1e-05  {comment}", f"{layer}._modules['a'].eps", "float"),
        ("LENGTH_CHECK", f"len({layer}._modules['a'].shape) == 1  {comment}", f"{layer}._modules['a'].shape", "tuple"),
        ("TENSOR_MATCH", f"check_tensor({weight}, {tensor})  {comment}", weight, parameter),
        *[
            ("DYNAMIC_MARKING", f"hasattr({weight}, '_dynamo_{mark}_indices') == False  {comment}", weight, parameter)
            for mark in ("dynamic", "static")
        ],
    ]


def _one_by_one(monkeypatch, tree):
    with monkeypatch.context() as patch:
        patch.setattr(guard_tree, "known_layer", lambda printed, file: KnownLayer())
        patch.setattr(KnownLayer, "form", None)
        return describe_guards(tree, forward.__code__)


LAYERS = {
    "all alike": [row for number in range(12) for row in _layer(number)],
    "one of another size": [row for number in range(4) for row in _layer(number, 32 if number == 2 else 16)],
    "one of another type": [row for number in range(4) for row in _layer(number, type_name=f"model.B{number // 2}")],
    "asked for by other lines": [
        row for number in range(4) for row in _layer(number, comment=f"# y = f(x)  # model.py:{number // 2} in f")
    ],
    "the user's line spells the layer": [
        row
        for number in range(3)
        for row in _layer(number, comment=f"# L['self']._modules['blocks']._modules['{number}']  # model.py:3 in f")
    ],
    "layers inside of layers": [
        (kind, condition.replace("blocks", f"stages']._modules['{stage}']._modules['blocks"), source, type_name)
        for stage in range(3)
        for number in range(3)
        for kind, condition, source, type_name in [
            (kind, condition, source.replace("blocks", f"stages']._modules['{stage}']._modules['blocks"), type_name)
            for kind, condition, source, type_name in _layer(number)
        ]
    ],
    "objects that are compared by identity": [
        row
        for number in range(3)
        for row in [
            *_layer(number),
            (
                "ID_MATCH",
                f"___check_obj_id(L['self'].fs[{number}], 14000000000{number}), type=<class 'function'>",
                f"L['self'].fs[{number}]",
                "function",
            ),
        ]
    ],
    "an item of the number of an object's id": [
        ("EQUALS_MATCH", f"L['self'].d[{key}].k == 1", f"L['self'].d[{key}].k", "int") for key in (3, 1234567890123)
    ],
    "two models": [
        (kind, condition.replace("L['self']", root), source.replace("L['self']", root), type_name)
        for root in ("L['self']", "L['x']", "G['model']")
        for number in range(3)
        for kind, condition, source, type_name in _layer(number)
    ],
}


@pytest.mark.parametrize("name", LAYERS)
def test_guards_of_layers_like_one_that_was_read_are_those_that_torch_prints(name, monkeypatch):
    tree = _tree(LAYERS[name])
    found = describe_guards(tree, forward.__code__)
    assert found == _one_by_one(monkeypatch, tree)
    assert len(found) > 1


def test_a_model_of_twelve_layers_has_the_guards_of_one_layer_and_the_names_of_all():
    found = describe_guards(_tree(LAYERS["all alike"]), forward.__code__)
    assert isinstance(found, GuardList)
    layers = [piece for piece in found.pieces if isinstance(piece, LayerGuards)]
    assert found.pieces == tuple(layers)
    assert len({layer.form for layer in layers}) == 1
    assert [layer.shown for layer in layers] == [f"self.blocks[{number}]" for number in range(12)]
    assert layers[1].expression == "L['self']._modules['blocks']._modules['1']"
    assert len(found) == len(list(found)) == len(found.records) == 72
    assert [guard.condition for guard in found][7::6][:2] == [
        "'forward' not in self.blocks[1].__dict__",
        "'forward' not in self.blocks[2].__dict__",
    ]


def test_how_guards_are_kept_does_not_depend_on_what_was_compiled_before():
    alone = _tree(_layer(3))
    before = describe_guards(alone, forward.__code__)
    describe_guards(_tree(LAYERS["all alike"]), forward.__code__)
    after = describe_guards(alone, forward.__code__)
    assert type(before) is type(after) is tuple
    assert before == after
