"""Bytecode: what all stages share, the micro-ops, facts about CPython versions, code flags, equality of constants."""
