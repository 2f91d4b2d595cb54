"""The adversary: random functions and mutants, judged by what they do and never by the prover.

    python -m bench.adversary --functions 1000 --seed 1 --start 0 --jobs 2 [--minimise] [--out DIR]
    python -m bench.adversary --mutants source|bytecode|tables ...

A function of the source text goes through `decompile_frame`; the original and the code that depyf would run in its
place are then run on the same *schedule*, and what they did is compared.

1. `random_functions` makes function number N of a seed from (seed, N) alone, so that any one can be made again, in any
   process. `random_expressions` has the expressions and `random_patterns` the patterns of `match`.
2. `traced_objects` are the operands, `world` has their log. Each operation on one (get, set, delete, call, bool,
   iter, next, enter, exit, compare, hash, contains, arithmetic, format, await) and its death is an entry. What an
   operation returns or raises comes from the schedule, which is a seed. Some calls and deaths rebind a global of the
   function.
3. `runs` runs a function on a schedule: arguments that only the frame holds, generators and coroutines driven by
   hand, `gc` off, the exception's traceback cleared at a logged point, locals read from the traceback.
4. `differences` compares two logs and names the kinds of difference. One table there states which kinds each
   assumption of the prover names. All others are failures.
5. `judgement` puts it together: grade, assumptions, kinds of difference, seconds. `strict_texts` runs the text of
   methods and closures, which has to run without what is around them.
6. `source_mutants` and `code_mutants` change one of two equal codes. Those that are still proved are run, those of
   bytecode in a child process, because malformed code can crash the interpreter.
7. `workers` has the processes: one handles many functions, and the parent replaces one that hangs or crashes.
   `scoreboard` counts. `minimised` makes a failing function small, with the schedule that shows the difference.

Nothing here shares code with the prover, so a mistake there cannot hide here.
"""
