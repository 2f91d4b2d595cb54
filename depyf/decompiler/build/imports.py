"""Import statements."""

from __future__ import annotations

from depyf.decompiler import syntax as s
from depyf.decompiler.build.effects import emit, flush
from depyf.decompiler.build.expression_forms import constant_of
from depyf.decompiler.build.private_names import mangled
from depyf.decompiler.build.symbolic_frame import Frame
from depyf.decompiler.build.symbolic_values import Fresh, ImportedModule, ImportedName, ImportValue, Value
from depyf.decompiler.bytecode.microops import Op
from depyf.decompiler.bytecode.unstructured import Unstructured

MOST_DOTS = 255  # before the name of a module; a constant can ask for more than memory holds


def op_import_name(frame: Frame, op: Op) -> None:
    """Execute IMPORT_NAME, IMPORT_NAME_BY_MODE, LAZY_IMPORT_NAME."""
    stack = frame.stack
    names = stack.pop()
    fromlist = () if isinstance(names, Fresh) and not names.items else constant_of(names)
    level = constant_of(stack.pop())
    has_level = type(level) is int and 0 <= level <= MOST_DOTS
    if not has_level or not (fromlist is None or isinstance(fromlist, tuple)):
        raise Unstructured("an import with arguments that no statement gives")
    flush(frame)
    if fromlist == ():
        import_for_use(frame, op, level)
    else:
        is_lazy = op.kind == "LAZY_IMPORT_NAME"
        stack.push(ImportValue(ImportedModule(op.arg, level, fromlist, is_lazy), op.offset))


def import_for_use(frame: Frame, op: Op, level: int) -> None:
    """Write the import that Dynamo puts where it reads a module: its fromlist is an empty tuple."""
    if level or "." in op.arg:
        raise Unstructured("a module inside a package that is imported for its package")
    value = Value(s.Name(op.arg), op.offset)
    value.name = frame.output.new_name(value.node)
    statement = s.Import([s.alias(op.arg, value.name)])
    statement.origin = op.offset
    frame.output.body.append(statement)
    frame.stack.push(value)


def op_import_from(frame: Frame, op: Op) -> None:
    """Execute IMPORT_FROM."""
    source = frame.stack.values[-1]
    if not isinstance(source, (ImportValue, ImportedName)):
        raise Unstructured("IMPORT_FROM of something that was not just imported")
    frame.stack.push(ImportedName(source.module, op.arg, op.offset))


def op_import_star(frame: Frame, op: Op) -> None:
    """Execute IMPORT_STAR."""
    value = frame.stack.pop()
    if not isinstance(value, ImportValue):
        raise Unstructured("IMPORT_STAR of something that was not just imported")
    value.module.aliases.append(s.alias("*"))
    finish_import(frame, value)


def store_module(frame: Frame, value: ImportValue, target: s.Expression) -> None:
    """Write `import a.b` or `import a as x`."""
    module = value.module
    if module.fromlist or module.level or not isinstance(target, s.Name):
        raise Unstructured("an import of an unknown form")
    top = module.name.partition(".")[0]
    alias = s.alias(module.name) if target.id == top else s.alias(module.name, target.id)
    if alias.asname is not None and "." in module.name:
        raise Unstructured("an import of an unknown form")
    emit(frame, s.Import([alias], int(module.is_lazy)))


def store_imported(frame: Frame, value: ImportedName, target: s.Expression) -> None:
    """Record `n as x` of `from m import n as x`, or write `import a.b as x`."""
    module = value.module
    if not isinstance(target, s.Name):
        raise Unstructured("an import into something that is not a variable")
    if module.fromlist is None:
        emit(frame, s.Import([s.alias(module.name, target.id)], int(module.is_lazy)))
        return
    name = value.attribute
    if len(module.aliases) < len(module.fromlist):
        name = module.fromlist[len(module.aliases)]  # as it was written, where the attribute's name is private
    if mangled(name, frame.scope.class_name) != value.attribute:
        raise Unstructured("an import of names that it does not list")
    same = target.id == value.attribute
    module.aliases.append(s.alias(name) if same else s.alias(name, target.id))


def finish_import(frame: Frame, value: ImportValue) -> None:
    """Write `from m import ...`: the module is popped after its names were taken."""
    module = value.module
    if module.fromlist is not None:
        if not module.aliases:
            raise Unstructured("an import that takes none of the names it lists")
        emit(frame, s.ImportFrom(module.name or None, module.aliases, module.level, int(module.is_lazy)))
