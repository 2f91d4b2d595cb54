"""Fixtures that tests of several rooms share."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def own_inductor_cache(tmp_path_factory):
    """Give the tests of a module a cache of Inductor's of their own: what is compiled there is compiled anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        yield
