# SPDX-License-Identifier: Apache-2.0
"""transformers: token-by-token decoding with a small Llama and a static cache, batch of one, greedy, eager.

Wrong: some hundred short kernels a token, launched by Python.
fix: the decoding of a token is one CUDA graph; the token is still read at each step (launch-bound).
useless: the end of the text is looked for every 16 tokens only.
"""
import inspect

import fixable

run = fixable.Program(__doc__, steps=1440, warm_up=12)
torch, transformers = fixable.load_torch("transformers")

PROMPT, LENGTH, VOCABULARY = 16, 512, 8000


def make(variant):
    fixable.seed(torch)
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=512, intermediate_size=1536, num_hidden_layers=8, num_attention_heads=8,
        num_key_value_heads=8, max_position_embeddings=1024)
    model = transformers.LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval()
    cache_arguments = {"config": config, "max_cache_len": LENGTH}
    if "max_batch_size" in inspect.signature(transformers.StaticCache.__init__).parameters:
        cache_arguments.update(max_batch_size=1, device="cuda", dtype=torch.bfloat16)
    cache = transformers.StaticCache(**cache_arguments)
    takes_cache_position = "cache_position" in inspect.signature(transformers.LlamaModel.forward).parameters
    prompt = torch.randint(0, VOCABULARY, (1, PROMPT), device="cuda")
    token = torch.zeros(1, 1, dtype=torch.long, device="cuda")
    position = torch.zeros(1, dtype=torch.long, device="cuda")
    text = []

    def forward(ids, positions):
        more = {"past_key_values": cache, "use_cache": True}
        if takes_cache_position:
            more["cache_position"] = positions
        with torch.no_grad():
            logits = model(input_ids=ids, position_ids=positions.unsqueeze(0), **more).logits  # cause: launch
        return logits[:, -1].argmax(dim=-1, keepdim=True)

    def prefill():
        cache.reset()
        token.copy_(forward(prompt, torch.arange(PROMPT, device="cuda")))
        position.fill_(PROMPT)
        text.clear()

    def decode():
        token.copy_(forward(token, position))
        position.add_(1)

    prefill()
    if variant == "fix":
        graph, _ = fixable.capture(torch, decode)
        prefill()

    def step():
        if len(text) >= LENGTH - PROMPT - 8:
            prefill()
        if variant == "fix":
            graph.replay()
        else:
            decode()
        if variant == "useless":
            text.append(token.clone())
            if len(text) % 16 == 0 and bool((torch.cat(text[-16:]) == VOCABULARY).any()):
                prefill()
        else:
            text.append(token.item())
            if text[-1] == VOCABULARY:  # the end of the text, which random weights never find
                prefill()

    return fixable.Work(step, torch.cuda.synchronize, lambda: [float(t) for t in text[-64:]])


run.main(make)
