"""`generate()` of a tiny Llama with a static cache, for prompts of two lengths."""

from __future__ import annotations

import torch
from transformers import LlamaConfig, LlamaForCausalLM


def run() -> None:
    """Generate a few tokens, twice."""
    config = LlamaConfig(
        vocab_size=128,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        pad_token_id=0,
        eos_token_id=None,
    )
    model = LlamaForCausalLM(config).eval()
    model.forward = torch.compile(model.forward, backend="eager")
    ids = torch.randint(1, 128, (1, 8))
    for cut in (8, 6):
        model.generate(
            ids[:, :cut],
            attention_mask=torch.ones_like(ids[:, :cut]),
            max_new_tokens=16 - cut,
            do_sample=False,
            cache_implementation="static",
        )
