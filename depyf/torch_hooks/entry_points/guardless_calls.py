"""Calls that skip the guards: a compiled method whose caller chooses the version.

Dynamo checks the guards of a version on every call, and there may be hundreds.  A caller that is sure which version
fits (the shapes never change, the module never changes) can call its code directly: Dynamo makes it with the same
arguments and cells as the original, so a function with that code in place of the original's is enough.
"""

from __future__ import annotations

import sys
import weakref
from types import CodeType, FunctionType, MethodType, TracebackType
from typing import Any, Callable, Dict, List, Type

from depyf.errors import UserError
from depyf.torch_hooks.frames import cache_entries
from depyf.torch_hooks.internals import private_hooks


class TorchCompileWrapperWithCustomDispatcher:
    """Base class for a callable whose `forward` is compiled and whose `__call__` decides what runs::

        class Model(TorchCompileWrapperWithCustomDispatcher):
            def __init__(self):
                super().__init__(torch.compile(self.forward))

            def forward(self, x):
                ...

            def __call__(self, x):
                if self.compiled_codes:
                    with self.dispatch_to_code(0):      # no guards: the caller is sure that it fits
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
        register = private_hooks.find("register_bytecode_hook")
        if register is None:
            raise UserError("TorchCompileWrapperWithCustomDispatcher needs a torch with bytecode hooks (2.2 or newer)")
        reference = weakref.ref(self)  # the hook must not keep the object alive

        def hook(old_code: CodeType, new_code: CodeType) -> Any:
            wrapper = reference()
            return None if wrapper is None else wrapper.bytecode_hook(old_code, new_code)

        weakref.finalize(self, register(hook).remove)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the compiled callable, for which Dynamo chooses the version; meant to be overridden."""
        return self.compiled_callable(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the result: the function that is compiled; override it."""
        raise NotImplementedError(f"{type(self).__name__} needs a forward method")

    def bytecode_hook(self, old_code: CodeType, new_code: CodeType) -> CodeType | None:
        """Keep the code that Dynamo compiled if it is a version of `forward` for this object."""
        if old_code is self.original_code_object and _compiled_for(old_code, self) is not False:
            self.compiled_codes.append(new_code)
        return None

    def dispatch_to_code(self, index: int) -> _Dispatch:
        """Return a context in which `self.forward` is the compiled version of that index, without its guards."""
        if index not in self._dispatches:
            self._dispatches[index] = _Dispatch(self, self.compiled_codes[index])
        return self._dispatches[index]


class _Dispatch:
    """Sets a `forward` on the object itself while entered, which hides the one of its class.

    The class is not changed: other objects of it, and other threads that use them, are not affected.
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
        self._before: List[Any] = []  # the attribute before, for each time that this is entered

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
    """Return whether the frame of `code` that Dynamo compiles now is a call on `wrapper`; None when unknown.

    Two objects of a class share the code of `forward`, and a bytecode hook gets code alone.  The frame is a local of
    the function of Dynamo's that called the hook.
    """
    caller = sys._getframe(1)
    while caller is not None:
        if caller.f_globals.get("__name__") == "torch._dynamo.convert_frame":
            frame: Any = caller.f_locals.get("frame")
            if getattr(frame, "f_code", None) is code:
                return frame.f_locals.get(code.co_varnames[0]) is wrapper if code.co_varnames else None
        caller = caller.f_back  # type: ignore[assignment]
    return None
