"""Sizes that torch had as symbols and made numbers while it traced, and the line that made it do so.

    if x.shape[0] == 6:        # s77 is 6 from here on: the graph serves no other size

Torch raises an event for each, with the symbol, what it is, the number, and the user's stack.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

from depyf.record.records import Location, Specialization
from depyf.torch_hooks.guards.source_names import readable

SPECIALIZATION_EVENT = "symbolic_shape_specialization"


def read_specialization(data: Dict[str, Any], place: Optional[Location]) -> Specialization:
    """Return what an event is about; `place`: the user's line that torch was at."""
    sources = data.get("sources")
    names = [readable(one) for one in sources if isinstance(one, str)] if isinstance(sources, list) else []
    return Specialization(str(data.get("symbol", "")), tuple(names), str(data.get("value", "")), place)
