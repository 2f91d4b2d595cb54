"""A tiny Llama of `transformers` with random weights, trained for a step: no download."""

import torch


def run(compiled):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        use_cache=False,
    )
    net = LlamaForCausalLM(config)
    step = compiled(net)
    tokens = torch.randint(0, 64, (2, 6))
    step(input_ids=tokens, labels=tokens).loss.backward()
