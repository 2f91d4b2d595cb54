"""Trace logs: make a record and files of what TORCH_TRACE wrote elsewhere, as far as such a log goes."""
