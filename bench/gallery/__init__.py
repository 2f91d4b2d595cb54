"""The gallery: over two hundred architectures compiled under `prepare_debug`, checked, and shown in one index.

    python -m bench.gallery -o FOLDER                        all models in all variants; FOLDER/index.html
    python -m bench.gallery -o FOLDER --only torch           a family; or transformers/bert, 'timm/*vit*' ...
    python -m bench.gallery -o FOLDER --variants forward,inductor --jobs 8
    python -m bench.gallery -o FOLDER --index                run nothing, write the index anew

Run from the root of a checkout, with torch; `transformers`, `timm` and `diffusers` for their families. Weights are
random and sizes small: nothing is downloaded. The families are in modules of their own (`catalogue` lists them).

Each model is compiled in five variants: `forward` and `training`, both also with a graph break after each layer
(`-breaks`), by the backend `eager`; and `inductor`, the forward pass by Inductor. A trial (`trial`) calls the model for
a batch of 2 and a batch of 3, uncompiled and then compiled under `depyf.prepare_debug`, with the same weights and
random numbers. It is *good* if

- all outputs, and in training all gradients, weights and buffers, are equal within the tolerance of
  `torch.testing.assert_close` for their type (for Inductor: 1e-3 relative, 1e-4 absolute);
- depyf replaced every frame that Dynamo compiled with its decompiled text, with a proof (PROVED or PROVED_UNDER), and
  recorded no problem;
- each file that the record names is there, Python files parse, and the page shows each graph.

What is not good is tried without depyf. If torch fails or differs there, too, it is listed as torch's, with torch's
message; if the model cannot be called uncompiled in that variant (many layers have no gradient, some models need more
than tokens), as the model's own. Everything else is depyf's failure, and the exit status is then 1.

Each trial has a process of its own, with a limit of processor time and memory (`children`). Its result is a file,
`FOLDER/<family>/<model>/<variant>.json`, so that a run that was stopped continues where it stopped; `--again` repeats
trials that have a result, `--retry` those that are not good. Beside it is the folder that depyf wrote, whose
`index.html` is what the gallery's index links to (`index_page`).
"""
