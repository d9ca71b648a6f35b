# SPDX-License-Identifier: Apache-2.0
"""PEFT: LoRA fine-tuning of a small GPT-2 with short texts; the loss is read by .item() at each step.

Wrong: adapters make each layer a run of tiny kernels, which Python launches slower than they run.
fix: the whole step is one CUDA graph; the loss is still read (launch-bound).
useless: the loss is read every 50 steps.
"""
import fixable

run = fixable.Program(__doc__, steps=180, warm_up=6)
torch, transformers, peft = fixable.load_torch("transformers", "peft")

BATCH, LENGTH, VOCABULARY = 4, 64, 4096


def make(variant):
    fixable.seed(torch)
    config = transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=256, n_embd=384, n_layer=6, n_head=6, use_cache=False,
                                     resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    base = transformers.GPT2LMHeadModel(config)
    lora = peft.LoraConfig(r=8, lora_alpha=16, lora_dropout=0.05, target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True,
                           task_type="CAUSAL_LM")
    model = peft.get_peft_model(base, lora).cuda().train()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-3, capturable=variant == "fix")
    texts = torch.randint(0, VOCABULARY, (8, BATCH, LENGTH), device="cuda")
    positions = torch.arange(LENGTH, device="cuda").unsqueeze(0)
    static_text = texts[0].clone()
    losses, turn = [], [0]

    def work(text):
        loss = model(input_ids=text, position_ids=positions, labels=text).loss  # cause: launch
        loss.backward()  # cause: launch in pt_autograd
        optimizer.step()  # cause: launch
        return loss

    if variant == "fix":
        graph, static_loss = fixable.capture(torch, lambda: work(static_text), before=optimizer.zero_grad)

    def step():
        turn[0] += 1
        text = texts[turn[0] % 8]
        if variant == "fix":
            static_text.copy_(text)
            graph.replay()
            loss = static_loss
        else:
            optimizer.zero_grad()
            loss = work(text)
        if variant != "useless" or turn[0] % 50 == 0:
            losses[:] = [loss.item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: losses)


run.main(make)
