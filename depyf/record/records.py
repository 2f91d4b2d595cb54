"""What one debugging session saw, as plain data.

The capture side (`depyf.torch_hooks`) fills a `SessionRecord`; every view (`full_code`, the summary,
`manifest.json`) is a pure function of it.  The record holds only what is the same in two runs of one program:
no object ids, addresses, times or process ids.

`depyf.record.saved_form` evaluates the field annotations, on Python 3.8 too, hence `typing.Tuple` and
`typing.Optional` instead of the newer spellings.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Dict, FrozenSet, List, Optional, Sequence, Tuple

from depyf.record import vocabulary as words
from depyf.record.guard_conditions import PROSE, GuardTest
from depyf.record.vocabulary import Installed, SourceOrigin

SCHEMA_VERSION = 4


@dataclass(frozen=True)
class Versions:
    """The software that made the record; an empty text where it is not known."""

    depyf: str = ""
    python: str = ""
    torch: str = ""


@dataclass(frozen=True)
class Location:
    """A line of the user's program."""

    file: str
    line: int
    function: str = ""  # name of the function the line is in, where known
    code: str = ""  # text of the line, where known


@dataclass(frozen=True)
class UserFile:
    """A file of the user's program that compiled code stems from."""

    file: str
    digest: str  # of its text when it was compiled
    label: str = ""  # what a reader calls it, where that is not its name: a cell of a notebook is "In [3]"


@dataclass(frozen=True)
class LineLink:
    """A line of a transformed code's file, and one of the user's lines that it stems from."""

    line: int
    user_file: str
    user_line: int
    found_by: str  # how the link is known: "proof", "bytecode", "resume" or "name"


@dataclass(frozen=True)
class NodeSource:
    """Nodes of a captured graph that stem from the same line, reached by the same calls."""

    calls: Tuple[Location, ...]  # outermost first; the last one is the line itself
    nodes: Tuple[str, ...]  # names; of a graph inside the graph with its name before: "cond_true_0.add"


@dataclass(frozen=True)
class KernelSource:
    """What one kernel implements, as torch's provenance tracking has it."""

    kernel: str  # name and number of the call, as in the comment before it: "cpp_fused_gelu_0:2"
    nodes: Tuple[str, ...]  # of the post-grad graph; none where torch kept only the lines
    calls: Tuple[Tuple[Location, ...], ...]  # the lines, each with the calls that led there, outermost first


@dataclass(frozen=True)
class GuardRecord:
    """One condition under which a compiled version may be used."""

    test: GuardTest  # what must hold
    expression: str = ""  # what is guarded, as torch names it: L['a'], G['torch'].abs
    kind: str = ""  # torch's name for the guard: TENSOR_MATCH, GLOBAL_STATE ...
    location: Optional[Location] = None  # the user's line that asked for it
    from_torch: bool = False  # whether that line is one of torch's own
    of_sizes: bool = False  # torch asked: it compiles for sizes 0 and 1 apart; the line is the first to use the size

    @property
    def condition(self) -> str:
        """What must hold, for a reader: a Python expression when `is_python`, else words."""
        return self.test.text

    @property
    def is_python(self) -> bool:
        """Whether `condition` is an expression over the function's parameters and globals."""
        return self.test.is_python


@dataclass(frozen=True)
class ChangedValue:
    """A value that a version was compiled for and that is another one in a later version, by the guards of both."""

    about: str  # the value: self.k, x.size(0), len(args); or a variable that holds another module: self
    condition: str = field(default="", metadata=PROSE)  # what the earlier version needs; empty: no guard tests it
    then: str = field(default="", metadata=PROSE)  # the value that it was compiled for; empty: the condition has it
    now: str = field(default="", metadata=PROSE)  # that of the later version; empty: the condition does not hold

    def __str__(self) -> str:
        if not self.condition:
            return f"{self.about} is {self.now}{UNTESTED}"
        return f"{self.condition}, {f'now {self.now}' if self.now else 'which is not so now'}"


THE_SAME = "the same"  # what other versions need
UNTESTED = " (no guard tests which)"


@dataclass(frozen=True)
class FailedGuard:
    """The guard of an earlier version that did not hold, so that Dynamo compiled again.

    `depyf.torch_hooks.guards.mismatches` has it in parts (value, property, expected, actual) while torch compiles; what
    is recorded is for people.
    """

    version: str  # compile id of that version
    condition: str = field(metadata=PROSE)  # what it needs: an expression, or words that continue "it needs"
    then: str = field(default="", metadata=PROSE)  # the value that the version was compiled for; empty: not known
    now: str = field(default="", metadata=PROSE)  # the value that came; empty where it cannot be read
    location: Optional[Location] = None  # the user's line that asked for the guard
    others: str = field(default="", metadata=PROSE)  # older versions whose guard failed likewise: "0/0 to 0/57"
    of_sizes: bool = False  # as in GuardRecord
    then_of_others: str = field(default="", metadata=PROSE)  # the values of those, in their order: "0, ..., 56, 57"
    about: str = ""  # what is tested, without the value: n, x.size(0); the same for each version that differs in it
    kind: str = ""  # empty: `condition` is what the version needs; else a word of the vocabulary
    stack: Tuple[Location, ...] = ()  # the calls that led to the line that asked for it, outermost first
    advice: str = field(default="", metadata=PROSE)  # torch's, on how to avoid the recompile
    first_used: bool = False  # nobody asked for it: the line is the first that uses the tensor
    also: Tuple[ChangedValue, ...] = ()  # what else is not as the version needs it, the likeliest causes first
    also_more: int = 0  # changes that are not in the list
    is_nearest: bool = False  # of several versions it is the nearest: no other cause was found

    def __str__(self) -> str:
        return "".join([self.need, f", {self.instead}" * bool(self.instead), f"; {self.likewise}" * bool(self.others)])

    @property
    def need(self) -> str:
        """What the version needs, as a sentence that cannot be read as what is the case now."""
        if self.kind == words.FITS_NOW:
            return f"{self.version} fits this call too: most likely another thread compiled it at the same time"
        if self.kind == words.TORCH_WORDS:
            return f"{self.version} does not fit, in torch's words: {self.condition}"
        return f"{self.version} needs {self.condition}"

    @property
    def instead(self) -> str:
        """What is the case now."""
        if self.kind:
            return ""
        return f"now {self.now}" if self.now else "which is not so now"

    @property
    def likewise(self) -> str:
        """What the other versions need, if there are any."""
        if not self.others:
            return ""
        return f"{self.others}: {'likewise' if self.kind else f'needs {self.then_of_others or THE_SAME}'}"

    @property
    def beside(self) -> str:
        """What else changed, if anything did; else, of the nearest of several versions, that nothing was found."""
        if not self.also:
            return f"{self.version} is the nearest: no other cause was found" * self.is_nearest
        tested = [str(one) for one in self.also if one.condition] + [f"{self.also_more} more"] * bool(self.also_more)
        also = [f"also: {'; '.join(tested)}"] if tested else []
        return "; ".join(also + [str(one) for one in self.also if not one.condition])


@dataclass(frozen=True)
class GraphBreak:
    """A place where Dynamo had to end a graph and go back to plain Python."""

    causes: Tuple[str, ...] = field(metadata=PROSE)  # what broke it, then what failed because of that; one line each
    location: Optional[Location] = None  # the user's line
    explanation: str = field(default="", metadata=PROSE)  # torch's explanation, many lines
    hints: Tuple[str, ...] = field(default=(), metadata=PROSE)  # what torch advises to do about it, one line each
    stack: Tuple[Location, ...] = ()  # the calls that led there, outermost first, without those of torch's own
    inside: Tuple[str, ...] = ()  # the higher-order operators that were traced: "autograd.Function"; innermost first
    own_call: Optional[int] = None  # index in `stack` of the line of the compiled function itself; None: not known
    raised_at: Optional[Location] = None  # of an exception that leaves the function: the line that raised it first

    @property
    def reason(self) -> str:
        """The causes on one line."""
        where = f" (inside {', inside '.join(self.inside)})" if self.inside else ""
        return AND_THEN.join(self.causes) + where

    @property
    def way(self) -> Tuple[Location, ...]:
        """The calls from the compiled function down to the line, both included; empty where they are not known."""
        return () if self.own_call is None else self.stack[self.own_call :]

    @property
    def raised_before(self) -> Optional[Location]:
        """The line that raised the exception, where `location` only passed it on: a `finally`, the end of a `with`."""
        here, first = self.location, self.raised_at
        if here is None or first is None or (here.file, here.line) == (first.file, first.line):
            return None
        return first


AND_THEN = ", and then "  # between the causes of a graph break


@dataclass(frozen=True)
class SkipRecord:
    """Why Dynamo left a frame to plain Python."""

    kind: str  # a key of SKIP_KINDS
    detail: Optional[str] = field(metadata=PROSE)  # torch's reason on one line; None: the kind explains itself
    compile_id: str = ""  # of the attempt; empty where Dynamo did not even begin
    graph_breaks: Tuple[GraphBreak, ...] = ()  # those that led to it
    hints: Tuple[str, ...] = field(default=(), metadata=PROSE)  # what torch advises to do about it, one line each
    location: Optional[Location] = None  # the user's line at which compiling it failed, where torch names it
    stack: Tuple[Location, ...] = ()  # the calls that led to that line, as in GraphBreak
    failed_guards: Tuple[FailedGuard, ...] = ()  # past the limit on recompiles: why no version fits
    called_from: Optional[Location] = None  # ... and the line of the program that made the call

    @property
    def reason(self) -> str:
        """Why, on one line."""
        if self.detail is None:
            return SKIP_KINDS.get(self.kind, "")
        return "; ".join([self.detail, *map(str, self.failed_guards)])


# The kind of a skip -> what it means to whoever reads it.
SKIP_KINDS: Dict[str, str] = {
    words.GRAPH_BREAK: "a graph break from which it cannot resume",
    words.GRAPH_BREAK_IN_LOOP: "a graph break inside a loop: Dynamo resumes only outside of loops",
    words.RECOMPILE_LIMIT: "it was compiled as often as torch's limit on recompiles allows",
    words.DISABLED: "compiling it is disabled",
    words.NO_GRAPH: "there is no operation on tensors in it to compile",
    words.NO_TENSORS: "neither its arguments nor its globals have to do with tensors",
    words.GENERATOR: "Dynamo does not compile generators, only functions that use them",
    words.SKIP_LIST: "it belongs to a module that Dynamo never compiles",
    words.FAILED: "compiling it failed, and the program got the exception",
    words.SUPPRESSED_ERROR: "compiling it failed; torch suppresses such errors here, and it runs as it is",
    words.INTERRUPTED: "compiling it was interrupted, and the program got the exception",
    words.OTHER: "Dynamo skipped it",
}


@dataclass(frozen=True)
class SkippedFrame:
    """A frame outside the user's program that Dynamo left to plain Python."""

    name: str
    file: str
    first_line: int
    skip: SkipRecord


@dataclass(frozen=True)
class OriginalFunction:
    """The function that the user calls, where Dynamo compiled a wrapper around it."""

    file: str
    first_line: int
    source: str  # as in FunctionRecord
    source_origin: SourceOrigin


@dataclass(frozen=True)
class FunctionRecord:
    """A function that Dynamo met: one of the user's, or a resume function, the rest of one after a graph break.

    `title`, `qualified_name`, `decorators` and `original` are about the function as the user calls it, the other fields
    about the code that Dynamo compiled: a wrapper has one code for all functions that it is put around, and a record
    for each.
    """

    key: str  # unique in the session and stable: "toy_example_0", "Encoder.forward_0"
    name: str  # co_name
    qualified_name: str  # co_qualname of the function that the user calls, where Python has it, else the title
    file: str
    first_line: int
    source: str  # dedented text of the function; empty when `source_origin` is "missing"
    source_origin: SourceOrigin
    parameters: Tuple[str, ...] = ()
    resume_of: Optional[str] = None  # key of the function whose rest this is
    resume_names: Tuple[str, ...] = ()  # global names under which frames call it: "__resume_at_102_2"
    written_in: str = ""  # the user's lines that hold it, when they are no definition: a lambda in a call
    earlier_versions: int = 0  # versions that were compiled before the session and may still be used
    skips: Tuple[SkipRecord, ...] = ()  # why Dynamo compiled no version where it met it: it runs as it is
    full_code_file: Optional[str] = None  # file name of the whole story, for functions of the user's
    title: str = ""  # what the user calls it: "toy_example", "Encoder.forward"
    decorators: Tuple[Location, ...] = ()  # what the compiled code puts around the original, outermost first
    original: Optional[OriginalFunction] = None  # the function inside them; None: the compiled code is its own
    compiled_in_calls: int = 0  # compilations of the newest context while the program was calling it
    compiled_in_earlier_calls: int = 0  # the same, of the contexts before it that had this folder
    called_at: Tuple[Location, ...] = ()  # lines of other functions that called it when Dynamo came to it: a few
    hook_of: Tuple[str, ...] = ()  # a few of the modules whose calls run it as a hook: "encoder.block[0]"
    hooked_modules: int = 0  # how many there are
    passed_on: Tuple[str, ...] = ()  # its `*args`: their name, then what the function that gets them calls each

    @property
    def display_name(self) -> str:
        """What a person calls the function."""
        return self.title or self.name

    @property
    def last_line(self) -> Optional[int]:
        """The last line of the code that Dynamo compiled; None where its text is not from a file."""
        text = self.source if self.source_origin == words.FROM_FILE else ""
        return self.first_line + len(text.rstrip("\n").split("\n")) - 1 if text.strip() else None

    @property
    def shown_file(self) -> str:
        """The file of the function that the user calls."""
        return self.file if self.original is None else self.original.file

    @property
    def shown_line(self) -> int:
        """The line on which it begins."""
        return self.first_line if self.original is None else self.original.first_line

    @property
    def shown_place(self) -> str:
        """Where it is defined, as `file:line`."""
        return f"{self.shown_file}:{self.shown_line}"


@dataclass(frozen=True)
class ResumeCall:
    """A transformed frame hands over to a resume function."""

    name: str  # the name used in the transformed code
    function: Optional[str] = None  # key of the resume function; None while it was never seen


@dataclass(frozen=True)
class Specialization:
    """A size that torch had as a symbol, and made a number while it traced."""

    symbol: str  # "s77"
    sources: Tuple[str, ...]  # what it is: "x.size()[0]"
    value: str  # the number
    location: Optional[Location] = None  # the user's line that asked for it, where torch was at one


@dataclass(frozen=True)
class FrameRecord:
    """One compilation of one function by Dynamo: a version of it."""

    compile_id: str  # "0/0": Dynamo's number of the function, then of the version
    function: str  # key of the FunctionRecord
    index: int  # <n> in the file name
    file: str  # file name of the transformed code
    source: str  # text of that file without its header; valid Python unless `rung` is "disassembly"
    installed: Installed
    grade: str  # "PROVED" | "PROVED_UNDER" | "UNPROVED" | "REFUTED"
    assumptions: Tuple[str, ...] = field(default=(), metadata=PROSE)  # what PROVED_UNDER rests on, one line each
    divergence: str = field(default="", metadata=PROSE)  # where original and text differ, or why nothing is proved
    rung: str = words.DISASSEMBLY  # how the text was found: "idioms" ...; "disassembly" is a listing
    guards: Sequence[GuardRecord] = ()
    graphs: Tuple[str, ...] = ()  # names of the graphs it calls: "__compiled_fn_1"
    resumes: Tuple[ResumeCall, ...] = ()
    graph_breaks: Tuple[GraphBreak, ...] = ()
    recompile_reasons: Tuple[str, ...] = field(default=(), metadata=PROSE)  # why no earlier version fits, torch's words
    failed_guards: Tuple[FailedGuard, ...] = ()  # the same in parts, with the values then and now
    bytecode_files: Tuple[str, ...] = ()
    from_cache: bool = False  # compiled before the session, and read from Dynamo's cache
    linked_to: str = ""  # of such a version: the file that an earlier session linked its code to
    line_links: Tuple[LineLink, ...] = ()  # the user's lines that lines of the file stem from
    called_from: Optional[Location] = None  # of a recompile: the line of the program that made the call
    module: str = ""  # of a method: the module that `self` was, in the model that it is part of: "encoder.block[0]"
    unreached: str = ""  # lines of the function that Dynamo did not come to when it traced: "12-14,20"
    specialized: Tuple[Specialization, ...] = ()  # sizes that were symbols until the program asked for their number


@dataclass(frozen=True)
class StageRecord:
    """One file of a graph: the graph at some stage of its compilation, or a module of kernels."""

    stage: str  # "Captured_Graph", "Forward_graph", ..., "kernel"; apart from these "candidate", "autotuning"
    index: int
    file: str
    runs: bool = False  # whether its Python ran in a call inside the context
    linked: bool = False  # whether the running function carries this file's name and lines
    instead: Tuple[str, ...] = ()  # for code that does not run: the files whose code does
    made_for: str = ""  # of a kernel and its graph: "forward", "backward" or "inference", where Inductor prints it
    piece: Optional[int] = None  # where the backend split the graph and compiled each piece on its own: which one
    execution: str = ""  # what was seen of its code in calls: "ran", "not called" ...; empty: it is not what runs
    sources: Tuple[KernelSource, ...] = ()  # of a module of kernels, where torch's provenance tracking was on
    recorded_functions: Tuple[str, ...] = ()  # of a kernel: those that a replay of a CUDA graph stands for


@dataclass(frozen=True)
class GraphRecord:
    """One graph that Dynamo captured, through all stages of its compilation."""

    name: str  # "__compiled_fn_1"
    compile_id: str
    stages: Tuple[StageRecord, ...] = ()
    kernels: Tuple[StageRecord, ...] = ()
    skipped: Tuple[str, ...] = ()  # stages that did not run, and left no file, because torch's cache had the result
    candidates: Tuple[StageRecord, ...] = ()  # modules that autotuning tried and did not take, and lists of its choices
    without_frame: str = field(default="", metadata=PROSE)  # why no frame of the record calls it: it was exported ...
    lost: Tuple[str, ...] = ()  # stages of a graph that was read from Dynamo's cache of which torch kept no text
    sources: Tuple[NodeSource, ...] = ()  # the lines that the nodes of the captured graph stem from

    @property
    def running_files(self) -> Tuple[str, ...]:
        """Names of the files whose code ran, or of which is only known that a call runs it."""
        parts = self.stages + self.kernels
        return tuple(part.file for part in parts if part.runs or part.execution == words.NOT_KNOWN)

    @property
    def linked_files(self) -> Tuple[str, ...]:
        """Names of the files where breakpoints are hit when their code is called."""
        own = [part.file for part in self.stages + self.kernels if part.linked]
        shared = [name for part in self.kernels if not part.linked for name in part.instead]
        return tuple(dict.fromkeys(own + shared))


@dataclass(frozen=True)
class RankView:
    """What some ranks did, where others did something else."""

    ranks: Tuple[int, ...]
    what: str = field(metadata=PROSE)  # "compiled it twice", "a = x + 1"
    why: Tuple[str, ...] = field(default=(), metadata=PROSE)  # torch's reasons: the guards that failed


@dataclass(frozen=True)
class RankDifference:
    """One thing that the ranks of a distributed job did not do alike."""

    kind: str  # "collectives" | "versions" | "graph" | "graph breaks" | "order" | "ended"
    function: str  # the function that it is about, as a person calls it; empty for the whole program
    place: str  # "file:line" of it, or empty
    views: Tuple[RankView, ...]  # one for each group of ranks, the largest group first
    text: str = field(metadata=PROSE)  # all of it in one line
    version: Optional[int] = None  # which compiled version of the function, where it is about one


@dataclass(frozen=True)
class LostFiles:
    """Files that could not be written: the disk is full, or someone removed the folder."""

    number: int
    why: str = field(metadata=PROSE)

    def __str__(self) -> str:
        return f"{'a file' if self.number == 1 else f'{self.number} files'} could not be written: {self.why}"


@dataclass(frozen=True)
class ProcessRecord:
    """One process of a program of many: its record is the manifest.json in its folder."""

    folder: str  # relative to the folder given: "rank_0", "process_1"; "." for the one that writes there itself
    rank: Optional[int] = None
    complete: bool = True  # whether it left its context; False while it runs, and for ever if it was killed
    functions: int = 0
    frames: int = 0
    graphs: int = 0
    graph_breaks: int = 0
    problems: int = 0
    compiling: Tuple[str, ...] = field(default=(), metadata=PROSE)  # what it was compiling when it wrote last
    alike: int = 0  # processes that compiled the very same, and whose folders were removed


@dataclass(frozen=True)
class SessionRecord:
    """All of it.  Frames and graphs are in the order in which Dynamo made them."""

    schema: int = SCHEMA_VERSION
    versions: Versions = field(default_factory=Versions)
    functions: Tuple[FunctionRecord, ...] = ()
    frames: Tuple[FrameRecord, ...] = ()
    graphs: Tuple[GraphRecord, ...] = ()
    files: Tuple[str, ...] = ()  # names of the files written, manifest.json and those of the page's folder aside
    problems: Tuple[str, ...] = field(default=(), metadata=PROSE)  # what went wrong inside depyf, one line each
    skipped_frames: Tuple[SkippedFrame, ...] = ()  # of libraries: what is skipped of the user's is in `functions`
    complete: bool = True  # False: the process still ran when this was written, or was killed
    compiling: Tuple[str, ...] = field(default=(), metadata=PROSE)  # where it is not complete: what was being compiled
    rank: Optional[int] = None  # of this process in a distributed job, where there is one
    world_size: Optional[int] = None
    processes: Tuple[ProcessRecord, ...] = ()  # in the folder of a program of many processes: all of them
    differences: Tuple[RankDifference, ...] = ()  # ... and what its ranks did not do alike
    lost_files: Optional[LostFiles] = None
    user_files: Tuple[UserFile, ...] = ()  # that the graphs stem from
    import_folders: Tuple[str, ...] = ()  # that of the program, then those Python imports from, site-packages aside
    recorded_elsewhere: int = 0  # versions compiled before that the folders of earlier contexts hold, and not this one
    not_offered: Tuple[str, ...] = field(default=(), metadata=PROSE)  # what this torch cannot give, one line each
    summary: Tuple[str, ...] = field(default=(), metadata=PROSE)  # the lines of summary.txt
    from_log: bool = False  # made of a trace log: `not_offered` is what such a log lacks

    def function(self, key: str) -> FunctionRecord:
        """Return the function with that key; KeyError when there is none."""
        return self._index.functions[key]

    def frames_of(self, key: str) -> Tuple[FrameRecord, ...]:
        """Return the compiled versions of a function, oldest first."""
        return tuple(self._index.frames.get(key, ()))

    @property
    def problem_lines(self) -> Tuple[str, ...]:
        """Every problem, one line each; the files that were lost are one of them."""
        return self.problems if self.lost_files is None else (*self.problems, str(self.lost_files))

    @property
    def skipped(self) -> Tuple[FunctionRecord, ...]:
        """The functions of the user's that Dynamo left to plain Python, for some arguments at least."""
        return tuple(function for function in self.functions if function.skips)

    @property
    def stories(self) -> Tuple[FunctionRecord, ...]:
        """The functions that have a `full_code` file of their own."""
        return self._index.stories

    @property
    def lone_breaks(self) -> Tuple[GraphBreak, ...]:
        """The graph breaks of compilations that gave no frame."""
        skips = [skip for function in self.functions for skip in function.skips]
        return tuple(graph_break for skip in skips for graph_break in skip.graph_breaks)

    def resumes_of(self, key: str) -> Tuple[FunctionRecord, ...]:
        """Return the resume functions that continue this very function (not those of its resume functions)."""
        return tuple(self._index.resumes.get(key, ()))

    @property
    def function_names(self) -> FrozenSet[Tuple[str, str]]:
        """The file and name of each function."""
        return self._index.function_names

    def graph(self, name: str) -> Optional[GraphRecord]:
        """Return the graph with that name, if it was captured."""
        return self._index.graphs.get(name)

    @functools.cached_property
    def _index(self) -> _Index:
        return _Index(self)


class _Index:
    """Finds parts of a record by their keys: with thousands of frames, searching for each would be slow."""

    def __init__(self, record: SessionRecord) -> None:
        self.functions: Dict[str, FunctionRecord] = {}
        self.frames: Dict[str, List[FrameRecord]] = {}
        self.resumes: Dict[str, List[FunctionRecord]] = {}
        self.graphs: Dict[str, GraphRecord] = {}
        self.function_names = frozenset([(function.file, function.name) for function in record.functions])
        self.stories = tuple(function for function in record.functions if function.full_code_file is not None)
        for function in record.functions:
            self.functions.setdefault(function.key, function)
            if function.resume_of is not None:
                self.resumes.setdefault(function.resume_of, []).append(function)
        for frame in record.frames:
            self.frames.setdefault(frame.function, []).append(frame)
        for graph in record.graphs:
            self.graphs.setdefault(graph.name, graph)
