"""The session: what `prepare_debug` records while torch compiles.

A frame walks forward through the modules: `registration` puts the callbacks into torch, `capture` receives them under
one lock, `recording` collects functions, frames and graphs, `journal_writer` saves each change, `closing` completes
the record and writes the last files.

This is all the state of depyf that is global to a process:

    entry_points.prepare_debug._active, _last_folder
                                           the context that is entered, and the folder of the one left last
    disk.process_folders._homes, _TOKEN    the folders that this process has claimed, and its own name
    entry_points.bytecode_log._installed   the hook of `install()`; its failures are in `_problems`
    frames.recorded_versions.RECORDED      the versions that contexts have recorded, as long as they live
    text.python_source._shapes             shapes of statements that have been found to compile: a cache
    functools.lru_cache                    on functions from text to text or record, and on the versions: caches

What torch and Python make global is changed while a context is entered, and restored when it is left: the bytecode
hooks, a handler on the trace logger and its `addHandler`, the function that raises trace events, a start callback,
`add_skip_reason`, `lazy_format_graph_code`, Inductor's `get_algorithm_selector_cache`, and an atexit function. Handlers
for forks (`os.register_at_fork`) stay.
"""
