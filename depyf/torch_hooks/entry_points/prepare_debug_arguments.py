"""The arguments of `prepare_debug`, in the present and in the older form of the call."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from depyf.errors import UserError

_FORM = (
    "expected prepare_debug(dump_src_dir, clean_wild_fx_code=True, log_bytecode=False, include_earlier=True, "
    "debug=False, page=True, timeline=False)"
)


class WrongArguments(UserError, TypeError):
    """prepare_debug was called with arguments that it does not take; the message shows the right form."""


@dataclass(frozen=True)
class Arguments:
    """What the caller of `prepare_debug` asked for."""

    dump_src_dir: str
    clean_wild_fx_code: bool
    log_bytecode: bool
    include_earlier: bool = True
    debug: bool = False
    page: bool = True
    timeline: bool = False


def read_arguments(*args: Any, **kwargs: Any) -> Arguments:
    """Return the arguments of a call; WrongArguments where they make no sense.

    The older form, `prepare_debug(function, dump_src_dir)`, is accepted, and the function ignored.
    """

    def present(
        dump_src_dir: Any,
        clean_wild_fx_code: Any = True,
        log_bytecode: Any = False,
        include_earlier: Any = True,
        debug: Any = False,
        page: Any = True,
        timeline: Any = False,
    ) -> Arguments:
        return Arguments(
            os.fsdecode(dump_src_dir),
            _flag("clean_wild_fx_code", clean_wild_fx_code),
            _flag("log_bytecode", log_bytecode),
            _flag("include_earlier", include_earlier),
            _flag("debug", debug),
            _flag("page", page),
            _flag("timeline", timeline),
        )

    kwargs.pop("func", None)
    kwargs.pop("function", None)
    if args and callable(args[0]) and not isinstance(args[0], (str, os.PathLike)):
        args = args[1:]
    try:
        arguments = present(*args, **kwargs)
    except WrongArguments:
        raise
    except TypeError as error:
        what = str(error).replace("read_arguments.<locals>.", "").replace("present()", "prepare_debug()")
        raise WrongArguments(f"{what}; {_FORM}") from None
    if not arguments.dump_src_dir or "\0" in arguments.dump_src_dir:
        raise WrongArguments(f"{arguments.dump_src_dir!r} cannot be the name of a folder; {_FORM}")
    return arguments


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, int):  # bool is one
        raise WrongArguments(f"{name} must be True or False, not {value!r}; {_FORM}")
    return bool(value)
