"""The session: `prepare_debug`, and what it gathers while torch compiles."""
