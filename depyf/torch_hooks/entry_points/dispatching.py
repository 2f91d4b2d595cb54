"""A compiled method whose caller picks the version, so that no guard is checked on the way.

Dynamo checks the guards of a version on every call, and there may be hundreds.  Whoever knows which version fits (the
shapes never change, nobody touches the module) can call its code directly: Dynamo makes it with the same arguments and
cells as the original, so a function with that code in place of the original's is all it takes.
"""

from __future__ import annotations

import sys
import weakref
from types import CodeType, FunctionType, MethodType, TracebackType
from typing import Any, Callable, Dict, List, Type

from depyf.errors import UserError
from depyf.torch_hooks.frames import cache_entries
from depyf.torch_hooks.internals import torch_facts


class TorchCompileWrapperWithCustomDispatcher:
    """Base class for a callable whose `forward` is compiled and whose `__call__` decides what runs.

        class Model(TorchCompileWrapperWithCustomDispatcher):
            def __init__(self):
                super().__init__(torch.compile(self.forward))

            def forward(self, x):
                ...

            def __call__(self, x):
                if self.compiled_codes:
                    with self.dispatch_to_code(0):      # no guards: the caller vouches for it
                        return self.forward(x)
                return self.compiled_callable(x)

    `compiled_codes` has the code of each version of `forward` that Dynamo compiled for this very object, oldest
    first.  UserError with a torch that has no bytecode hooks.
    """

    def __init__(self, compiled_callable: Callable[..., Any], use_custom_dispatcher: bool = True) -> None:
        self.compiled_callable = compiled_callable
        self.use_custom_dispatcher = use_custom_dispatcher
        self.original_code_object: CodeType = type(self).forward.__code__
        self.compiled_codes: List[CodeType] = []
        self._dispatches: Dict[int, _Dispatch] = {}
        register = torch_facts.find("register_bytecode_hook")
        if register is None:
            raise UserError("TorchCompileWrapperWithCustomDispatcher needs a torch with bytecode hooks (2.2 or newer)")
        reference = weakref.ref(self)  # the hook must not keep the object alive

        def hook(old_code: CodeType, new_code: CodeType) -> Any:
            wrapper = reference()
            return None if wrapper is None else wrapper.bytecode_hook(old_code, new_code)

        weakref.finalize(self, register(hook).remove)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What a call does; meant to be overridden.  As it is, Dynamo decides."""
        return self.compiled_callable(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The function that is compiled; meant to be overridden."""
        raise NotImplementedError(f"{type(self).__name__} needs a forward method")

    def bytecode_hook(self, old_code: CodeType, new_code: CodeType) -> CodeType | None:
        """Dynamo compiled something: keep its code if it is a version of `forward` for this object."""
        if old_code is self.original_code_object and _compiled_for(old_code, self) is not False:
            self.compiled_codes.append(new_code)
        return None

    def dispatch_to_code(self, index: int) -> _Dispatch:
        """A context in which `self.forward` is the compiled version of that index, without its guards."""
        if index not in self._dispatches:
            self._dispatches[index] = _Dispatch(self, self.compiled_codes[index])
        return self._dispatches[index]


class _Dispatch:
    """While entered, the object's own `forward` stands in front of the one of its class.

    The class is not touched: other objects of it, and other threads that use them, go on as they were.
    """

    def __init__(self, wrapper: Any, code: CodeType) -> None:
        original = type(wrapper).forward
        function = FunctionType(
            code, original.__globals__, original.__name__, original.__defaults__, original.__closure__
        )
        function.__kwdefaults__ = original.__kwdefaults__
        function.__qualname__ = original.__qualname__
        self._wrapper = weakref.ref(wrapper)
        self._function = function
        # Dynamo removes the graphs from the globals when the code that it holds dies.
        self._alive = [version.new_code for version in cache_entries.versions_of(wrapper.original_code_object)]
        self._before: List[Any] = []  # what stood there, for each time that this is entered

    def __enter__(self) -> None:
        wrapper: Any = self._wrapper()
        self._before.append(wrapper.__dict__.get("forward"))
        wrapper.__dict__["forward"] = MethodType(self._function, wrapper)

    def __exit__(
        self, kind: Type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        wrapper: Any = self._wrapper()
        before = self._before.pop()
        if before is None:
            wrapper.__dict__.pop("forward", None)
        else:
            wrapper.__dict__["forward"] = before


def _compiled_for(code: CodeType, wrapper: Any) -> bool | None:
    """Whether the frame of `code` that Dynamo compiles now is a call on `wrapper`; None when that cannot be told.

    Two objects of a class share the code of `forward`, and a bytecode hook is told of code alone.  The frame is a
    local of the function of Dynamo's that called the hook.
    """
    caller = sys._getframe(1)
    while caller is not None:
        if caller.f_globals.get("__name__") == "torch._dynamo.convert_frame":
            frame: Any = caller.f_locals.get("frame")
            if getattr(frame, "f_code", None) is code:
                return frame.f_locals.get(code.co_varnames[0]) is wrapper if code.co_varnames else None
        caller = caller.f_back  # type: ignore[assignment]
    return None
