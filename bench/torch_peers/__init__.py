"""depyf 0.20 and this project on the same programs of torch, as `python -m bench.torch_peers`.

    python -m bench.torch_peers [--old PYTHON] [--variants ...] [--only ...]
    python -m bench.torch_peers --old PYTHON --tests .../test/dynamo test_functions test_repros

Two materials. Without `--tests`: the models of the gallery that need nothing but torch. With it: modules of PyTorch's
own tests of Dynamo (a checkout of its `test/dynamo`, which is no part of this project). Every depyf gets the same
ones, each in processes of its own, under `prepare_debug`; `--old` names an interpreter in whose environment depyf
0.20 and the same torch are installed. Counted are

    right      models whose results are those of the uncompiled model; tests that pass as they do without a depyf.
               What torch fails at by itself is left out
    replaced   frames that run code compiled from a text in the folder, of all frames that Dynamo compiled

which needs nobody's prover: the code that Dynamo ends up with has the name of its file. Prints a table in Markdown,
with the versions and the date; what was lost goes to stderr.
"""
