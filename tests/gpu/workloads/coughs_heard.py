# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a telephone line for the sick hears coughs, and a spectrogram transformer (transformers, Trainer) learns from them
whether they are dry, wet, barking and the like. Spectrograms of 2.5 seconds are on the GPU in batches of 44; rare kinds have
more weight. Each 25 steps the running loss is written down.

Wrong: once the memory had not been enough, and since then a callback from a forum empties the cache of the allocator behind each
step; all of a step's arrays are given back to the driver, which waits for the GPU, and are taken from it in the next one.
fix: without that callback (alloc-bound).
useless: the running loss comes to pinned memory.
"""
import tempfile

import fixable

run = fixable.Program(__doc__, steps=110, warm_up=12)
torch, transformers, _ = fixable.load_torch("transformers", "accelerate")

BATCH, MOMENTS, TONES, KINDS, SETS, LOOK = 44, 256, 64, 6, 12, 25
SETTINGS = dict(per_device_train_batch_size=1, num_train_epochs=1, max_grad_norm=1.0, save_strategy="no", logging_strategy="no",
                report_to="none", disable_tqdm=True, remove_unused_columns=False, dataloader_pin_memory=False, seed=20)


class Recordings(torch.utils.data.Dataset):
    """Batches of spectrograms in the order in which they came; as many as are asked for."""

    def __init__(self):
        tones = torch.randn(KINDS, 1, TONES, device="cuda")
        bursts = torch.rand(KINDS, MOMENTS, 1, device="cuda").pow(4.0)
        self.asked, self.turn, self.batches = 1, 0, []
        for _ in range(SETS):
            kinds = torch.randint(0, KINDS, (BATCH,), device="cuda")
            sound = 1.5 * bursts[kinds] * tones[kinds] + torch.randn(BATCH, MOMENTS, TONES, device="cuda")
            self.batches.append({"input_values": sound, "kinds": kinds})

    def __len__(self):
        return self.asked

    def __getitem__(self, _):
        self.turn += 1
        return dict(self.batches[self.turn % SETS])


class Training(transformers.Trainer):
    """With weights for rare kinds, and the running loss in `usual`."""

    def compute_loss(self, model, inputs, return_outputs=False, **_):
        logits = model(input_values=inputs["input_values"]).logits  # cause: alloc
        loss = torch.nn.functional.cross_entropy(logits, inputs["kinds"], weight=self.weights, label_smoothing=0.1)
        self.usual.lerp_(loss.detach(), 0.02)
        return (loss, logits) if return_outputs else loss


class Diary(transformers.TrainerCallback):
    """Writes the running loss down."""

    def __init__(self, usual, landing):
        self.usual, self.landing, self.steps, self.written = usual, landing, 0, []

    def on_step_end(self, args, state, control, **_):
        self.steps += 1
        if self.steps % LOOK:
            return
        if self.landing is not None:
            self.landing.copy_(self.usual, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            self.written.append(self.landing.item())
        else:
            self.written.append(self.usual.item())


class Tidy(transformers.TrainerCallback):
    """Gives memory back that is not in use."""

    def on_step_end(self, args, state, control, **_):
        torch.cuda.empty_cache()  # cause: alloc


def make(variant):
    fixable.seed(torch)
    recordings = Recordings()
    model = transformers.ASTForAudioClassification(transformers.ASTConfig(
        hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, patch_size=16, frequency_stride=10, time_stride=10, max_length=MOMENTS,
        num_mel_bins=TONES, num_labels=KINDS)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 50.0))
    usual = torch.zeros((), device="cuda")
    folder = tempfile.TemporaryDirectory()
    settings = transformers.TrainingArguments(output_dir=folder.name, **SETTINGS)
    settings.logging_nan_inf_filter = False
    settings._n_gpu = 1  # the others are for other work
    callbacks = [Diary(usual, torch.empty((), pin_memory=True) if variant == "useless" else None)]
    if variant != "fix":
        callbacks.append(Tidy())
    trainer = Training(model=model, args=settings, train_dataset=recordings, data_collator=lambda batches: batches[0],
                       optimizers=(optimizer, schedule), callbacks=callbacks)
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.usual, trainer.weights = usual, torch.linspace(0.7, 1.3, KINDS, device="cuda")
    trainer.folder = folder  # is there as long as the trainer is

    def train(steps):
        recordings.asked = steps
        trainer.train()  # cause: alloc

    return fixable.Work(loop=train, wait=torch.cuda.synchronize, values=lambda: [usual.item()])


run.main(make)
