# SPDX-License-Identifier: Apache-2.0
"""The programs with a fix (tests/gpu/workloads): what the fix of each is of, and which prediction speaks of it.

The sets are reported apart: what is learnt from the programs of the first half may change cudaspy, and those that
are held back say afterwards whether that helped programs in general. Once they have been looked at, they are programs to learn
from as well; the fresh ones were written then, before the next change, and the last ones when the fresh ones had been looked at.
The unseen ones were written when the last ones had been looked at, and the strangers after those, by someone who knew these
programs alone, and nothing of what the report says or how it comes to say it. The guests were written in the same way by another
one, when the strangers had been looked at, the visitors by two more, when the guests had been, and the callers
by another one, when the visitors had been. The newcomers, the travellers and the wanderers were each written by two more, when
the sets before them had been looked at, the lodgers and the boarders by one more each, who were asked for a fix of each class
that could gain anything, and so the passengers and the pilgrims when those had been looked at, the settlers after them,
the sailors after the settlers, and the farmers after the sailors; the weavers and the millers were written by two each, when
those had been looked at, and so the glaziers and the drovers after them, and the potters and the coopers after these, and the
thatchers and the chandlers after those, and the wheelwrights and the fletchers, whose fixes change one thing each: there is one
of each class that may gain a tenth; and the saddlers and the glovers last, where each program that waits in its step has a fix of
that, and most of those with many launches one of these.
"""


class Fix:
    """A variant that puts right what is wrong: the class that a verdict must have where this is the best one, and the
    change of `report --what-if` that says what it gains, if there is one."""

    def __init__(self, classes, what_if=None, variant="fix"):
        self.classes = (classes,) if isinstance(classes, str) else tuple(classes)
        self.what_if, self.variant = what_if, variant


class Case:
    """A program. `useless`: the change of `--what-if` that the useless variant stands for; `otherwise`: the class where no
    fix helps; `near`: how far the result may be from the bare run's, for kernels that add in any order; `kernel`: the one
    whose mean time is looked at."""

    def __init__(self, name, needs, *fixes, useless=None, otherwise=None, gpus=1, near=1e-3, kernel=None, env=None, timeout=120):
        self.name, self.needs, self.fixes = name, tuple(needs.split()), fixes
        self.useless, self.otherwise, self.gpus, self.near = useless, otherwise, gpus, near
        self.kernel, self.env, self.timeout = kernel, env or {}, timeout

    @property
    def variants(self):
        return ["base"] + [f.variant for f in self.fixes] + ["useless"]


FIRST = [
    Case("gcn_item", "torch torch_geometric", Fix("launch-bound", "graphs"), useless="no-sync", near=0.2),
    Case("adamw_small_tensors", "torch", Fix("launch-bound", "graphs"), Fix("launch-bound", None, "fix2"), useless="pinned"),
    Case("generate_static_cache", "torch transformers", Fix("launch-bound", "graphs"), useless="no-sync"),
    Case("graph_replays", "torch", useless="graphs", otherwise="gpu-bound"),
    Case("loader_slow", "torch torchvision", Fix("host-bound", "host=0"), useless="pinned", near=0.05),
    Case("rl_steps", "torch", Fix("launch-bound", "graphs"), Fix("launch-bound", None, "fix2"), useless="pinned"),
    # lax.scan takes the host's work of each step away: its dispatch, and the conversion of the batch.
    # XLA tries kernels and takes the fastest: three bare runs differed by 0.7 %.
    Case("jax_optax_numpy", "jax optax", Fix("copy-bound"), Fix("host-bound", None, "fix2"), useless="no-alloc", near=0.02),
    Case("train_eval_phases", "torch", Fix("launch-bound", "graphs"), useless="no-sync", near=0.5),
    Case("numba_host_arrays", "numba", Fix("copy-bound"), useless="graphs"),
    Case("kernel_drift", "torch", useless="host=0", otherwise="gpu-bound", kernel="spin"),
    Case("prefetch_needless_wait", "torch", Fix("sync-bound", "no-sync"), useless="no-alloc"),
    Case("ddp_exposed", "torch", Fix("comm-bound"), useless="graphs", gpus=2, timeout=150),
]
HELD = [
    Case("loader_pageable", "torch", Fix("copy-bound", "pinned"), useless="host=0", near=0.05),
    Case("server_threads", "torch", Fix("launch-bound", "graphs"), Fix("launch-bound", None, "fix2"), useless="pinned"),
    Case("recompile_shapes", "torch triton", Fix("host-bound", "host=0"), useless="no-sync"),
    Case("grad_accumulation", "torch", Fix("sync-bound", "no-sync"), useless="fused", near=0.05),
    Case("jax_donation", "jax", Fix(("copy-bound", "gpu-bound")), useless="no-sync"),
    Case("cupy_stencil", "cupy", Fix("launch-bound", "graphs"), Fix("launch-bound", None, "fix2"), useless="no-sync"),
    Case("lora_finetuning", "torch transformers peft", Fix("launch-bound", "graphs"), useless="no-sync", near=0.05),
    Case("vit_amp_scaler", "torch timm", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.05),
    Case("eval_cpu_metric", "torch torchvision", Fix("sync-bound", "no-sync"), Fix("host-bound", "host=0", "fix2"),
         useless="pinned"),
    Case("two_processes", "torch", Fix("launch-bound", "graphs"), useless="no-sync"),
    Case("ddp_straggler", "torch", Fix(("comm-bound", "host-bound")), useless="graphs", gpus=2, timeout=150),
]
FRESH = [
    Case("cnn_cuda_batches", "torch", Fix("copy-bound", "pinned"), useless="no-alloc", near=0.05),
    Case("encoder_small_batch", "torch", Fix("launch-bound", "graphs"), useless="no-alloc", near=0.05),
    Case("gru_step_cpu", "torch", Fix("launch-bound", "graphs"), Fix("sync-bound", "no-sync", "fix2"), useless="pinned"),
    Case("diffusion_host_noise", "torch", Fix("host-bound", "host=0"), Fix("copy-bound", "pinned", "fix2"), useless="no-alloc",
         near=0.05),
    Case("cupy_conjugate", "cupy", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc"),
    Case("jax_loss_printed", "jax", Fix("sync-bound", "no-sync"), Fix("host-bound", "host=0", "fix2"), useless="no-alloc"),
    Case("clip_norm_items", "torch", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.05),
    Case("streams_device_sync", "torch", Fix("sync-bound", "no-sync"), useless="graphs"),
    Case("collate_heavy", "torch", Fix("host-bound", "host=0"), useless="pinned", near=0.05),
    Case("empty_cache_steps", "torch", Fix("alloc-bound", "no-alloc"), useless="pinned"),
]
LAST = [
    Case("decode_queue", "torch torchvision", Fix("host-bound", "host=0"), useless="pinned", near=0.05),
    Case("beam_search", "torch", Fix("host-bound", "host=0"), useless="pinned", near=0.02),
    Case("lstm_cells", "torch", Fix("launch-bound"), Fix("launch-bound", "graphs", "fix2"), useless="pinned", near=0.05),
    Case("ema_state_dict", "torch timm", Fix("launch-bound"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.05),
    # jax.jit takes the launches away, and what Python does between them.
    Case("jax_nbody", "jax", Fix(("launch-bound", "host-bound")), useless="no-sync", near=0.02),
    Case("jax_blocked", "jax flax", Fix("sync-bound", "no-sync"), useless="graphs", near=0.02),
    Case("numba_residual", "numba", Fix("sync-bound", "no-sync"), useless="pinned"),
    Case("cupy_monte_carlo", "cupy", Fix("sync-bound", "no-sync"), useless="pinned"),
    Case("float64_tables", "torch", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), useless="no-alloc",
         near=0.05),
    Case("timed_steps", "torch torchvision", Fix("sync-bound", "no-sync"), useless="no-alloc", otherwise="gpu-bound", near=0.05),
    Case("checkpoint_gpt", "torch", Fix("gpu-bound"), useless="pinned", otherwise="gpu-bound", near=0.05),
    Case("eval_cat_cpu", "torch", Fix("host-bound", "host=0"), useless="pinned", near=0.05),
]
UNSEEN = [
    Case("unet_sampler", "torch", Fix("launch-bound", "graphs"), useless="no-alloc", near=0.05),
    Case("cupy_frames", "cupy", Fix("copy-bound", "pinned"), useless="no-alloc"),
    # One launch instead of 128; no graph: Numba has none, and the kernels of a graph would be as many.
    Case("numba_rows", "numba", Fix("launch-bound"), useless="no-sync"),
    Case("lamb_by_hand", "torch torchvision", Fix("launch-bound", "fused"), Fix("launch-bound", "graphs", "fix2"),
         useless="no-alloc", near=0.05),
    Case("attention_written_out", "torch", Fix("gpu-bound"), useless="no-sync", otherwise="gpu-bound", near=0.05),
    Case("bert_wordpieces", "torch transformers", Fix("host-bound", "host=0"), useless="pinned", near=0.02),
    Case("cupy_no_pool", "cupy", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # lax.scan takes away the dispatch of each note, and what Python does between two. One note that is drawn otherwise,
    # since XLA took another kernel, changes those behind it.
    Case("jax_melodies", "jax", Fix(("launch-bound", "host-bound")), useless="no-alloc", near=0.1),
    # The host compares boxes while the GPU rests: without the waits both go on at once; with NumPy there is little to compare.
    Case("tracker_boxes", "torch", Fix("sync-bound", "no-sync"), Fix("host-bound", "host=0", "fix2"), useless="no-alloc", near=0.1),
    Case("offload_activations", "torch", Fix("copy-bound"), Fix("copy-bound", "pinned", "fix2"), useless="no-alloc", near=0.05),
]
STRANGERS = [
    # The GPU is at work on each module while the host launches the next one, but for the hooks.
    Case("nan_hooks", "torch timm", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.02),
    # The host handles words while the GPU rests: without the waits both go on at once; handled well, there is little to do.
    Case("token_streamer", "torch", Fix("sync-bound", "no-sync"), Fix("host-bound", "host=0", "fix2"), useless="pinned", near=0.02),
    Case("dpsgd_samples", "torch", Fix("launch-bound"), Fix("launch-bound", "graphs", "fix2"), useless="pinned", near=0.05),
    # One jitted function takes the launches away, and what Python does between them. XLA takes the fastest of several kernels.
    Case("jax_leaf_updates", "jax", Fix(("launch-bound", "host-bound")), useless="no-alloc", near=0.02),
    Case("pyg_molecules", "torch torch_geometric", Fix("host-bound", "host=0"), useless="pinned", near=0.1),
    Case("cupy_csv", "cupy", Fix("host-bound", "host=0"), useless="no-alloc"),
    Case("recsys_fields", "torch", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), useless="no-alloc"),
    Case("teacher_logits", "torch transformers", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), useless="no-alloc",
         near=0.02),
    Case("mixer_fp32", "torch timm", Fix("gpu-bound"), useless="fused", otherwise="gpu-bound", near=0.05),
    Case("numba_temporaries", "numba", Fix("alloc-bound", "no-alloc"), useless="pinned"),
]
GUESTS = [
    Case("pinn_burgers", "torch", Fix("launch-bound", "graphs"), useless="no-sync", near=0.05),
    Case("kalman_tracks", "torch", Fix("launch-bound", "graphs"), useless="pinned", near=0.02),
    # The host cuts pictures while the GPU rests: without the reads both go on at once.
    Case("gan_logged", "torch", Fix("sync-bound", "no-sync"), Fix("host-bound", "host=0", "fix2"), useless="fused", near=0.05),
    # The same with the rows of a minibatch.
    Case("jax_ppo_kl", "jax optax", Fix("sync-bound", "no-sync"), Fix("host-bound", "host=0", "fix2"), useless="no-alloc",
         near=0.02),
    Case("spectrogram_features", "torch", Fix("copy-bound", "pinned"), useless="no-alloc"),
    Case("stages_offloaded", "torch transformers", Fix("copy-bound"), Fix("copy-bound", "pinned", "fix2"), useless="no-alloc",
         near=0.02),
    Case("cupy_sky_frames", "cupy", Fix("alloc-bound", "no-alloc"), useless="pinned"),
    # It is the host's memory that is allocated. Numba keeps none; the two kernels of a frame would be as many in a graph.
    Case("numba_pinned_frames", "numba", Fix("alloc-bound", "no-alloc"), useless="graphs"),
    Case("policy_env_loop", "torch", Fix("host-bound", "host=0"), useless="pinned", near=0.05),
    Case("jax_forecast_windows", "jax optax", Fix("host-bound", "host=0"), useless="no-alloc", near=0.05),
    Case("nearest_broadcast", "torch", Fix("gpu-bound"), useless="pinned", otherwise="gpu-bound"),
    Case("frozen_backbone", "torch timm", Fix("gpu-bound"), Fix("gpu-bound", None, "fix2"), useless="no-sync",
         otherwise="gpu-bound", near=0.05),
]
VISITORS = [
    Case("offline_q_learning", "torch", Fix("launch-bound", "graphs"), useless="no-sync", near=0.05),
    # torch.compile makes a dozen kernels of some seventy.
    Case("lattice_boltzmann", "torch triton", Fix("launch-bound"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.02),
    # The host must know how many words an expert has before it can launch the expert. fix2 still waits once a block.
    # What is waited for costs launches as well; fix3 has the fewest.
    Case("experts_in_turn", "torch", Fix("sync-bound", "no-sync"), Fix("sync-bound", None, "fix2"),
         Fix("launch-bound", None, "fix3"), useless="no-alloc", near=0.02),
    Case("chats_swapped", "torch", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), useless="no-alloc", near=0.02),
    Case("graph_negatives", "torch torch_geometric", Fix("host-bound", "host=0"), Fix("host-bound", None, "fix2"),
         useless="pinned", near=0.05),
    # Pinned and non_blocking already: there are fewer bytes, or they are copied beside the computing.
    Case("label_planes", "torch", Fix("copy-bound"), Fix("copy-bound", None, "fix2"), useless="no-alloc", near=0.05),
    Case("choice_logits", "torch", Fix("gpu-bound"), useless="graphs", otherwise="gpu-bound", near=0.02),
    # The graph and the kernel of a slope leave the same arithmetic; what is launched is less.
    Case("cupy_neurons", "cupy", Fix("launch-bound", "graphs"), Fix("launch-bound", None, "fix2"), useless="no-sync"),
    # It is the host's memory that is allocated.
    Case("cupy_projections", "cupy", Fix("alloc-bound", "no-alloc"), useless="graphs"),
    Case("numba_tracers", "numba", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), useless="no-sync"),
    # Python hands a hundred arrays over at each call, and XLA brings them to pinned memory by threads of its own.
    Case("jax_restored_weights", "jax flax", Fix(("copy-bound", "host-bound")), useless="no-alloc", near=0.02),
    Case("jax_padded_reviews", "jax", Fix("gpu-bound"), useless="host=0", otherwise="gpu-bound", near=0.02),
    Case("pyg_collisions", "torch torch_geometric", Fix("sync-bound", "no-sync"), Fix("host-bound", "host=0", "fix2"),
         useless="no-alloc", near=0.02),
    Case("loader_lists", "torch", Fix("host-bound", "host=0"), useless="pinned", near=0.05),
]
CALLERS = [
    Case("camera_parts", "torch timm", Fix("launch-bound", "graphs"), useless="no-sync", near=0.02),
    Case("neural_ode", "torch", Fix("launch-bound", "graphs"), useless="fused", near=0.05),
    # One jitted function takes the launches away, and what Python does between them. A number is read behind each step.
    Case("jax_particles", "jax", Fix(("launch-bound", "host-bound")), useless="no-sync", near=0.02),
    # The host cuts windows while the GPU rests: without the waits both go on at once.
    Case("pcgrad_tasks", "torch", Fix("sync-bound", "no-sync"), Fix("host-bound", "host=0", "fix2"), useless="fused", near=0.05),
    # The same with the rows of a table.
    Case("jax_loss_scale", "jax optax", Fix("sync-bound", "no-sync"), Fix("host-bound", "host=0", "fix2"), useless="no-alloc",
         near=0.02),
    Case("mri_coils", "torch", Fix("copy-bound", "pinned"), useless="no-alloc"),
    # fix2 copies an eighth of the bytes, from the same kind of memory.
    Case("cupy_wavefield", "cupy", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), useless="graphs"),
    Case("numba_reads", "numba", Fix("host-bound", "host=0"), useless="pinned"),
    Case("crops_cache", "torch", Fix("alloc-bound", "no-alloc"), useless="no-sync", near=0.05),
    # The graph takes the host's work away; what is put in order stays.
    Case("top_p_words", "torch transformers", Fix("gpu-bound"), useless="graphs", otherwise="gpu-bound", near=0.05),
]
NEWCOMERS = [
    Case("spiking_sounds", "torch", Fix("launch-bound", "graphs"), Fix("launch-bound", None, "fix2"), useless="no-sync", near=0.05),
    # The host cuts windows while the GPU rests: without the waits both go on at once.
    Case("forecast_chances", "torch", Fix("sync-bound", "no-sync"), Fix("host-bound", "host=0", "fix2"), useless="no-alloc",
         near=0.02),
    # fix2 copies half of the bytes, from the same kind of memory.
    Case("lidar_pillars", "torch", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), useless="no-sync", near=0.02),
    Case("chess_fen", "torch", Fix("host-bound", "host=0"), Fix("host-bound", None, "fix2"), useless="pinned", near=0.05),
    # cudaMalloc and cudaFree are called by ctypes; PyTorch's own allocator has nothing to do with it.
    Case("radar_buffers", "torch", Fix("alloc-bound", "no-alloc"), useless="no-sync"),
    Case("style_transfer", "torch torchvision", Fix("gpu-bound"), Fix("launch-bound", "graphs", "fix2"), useless="fused",
         otherwise="gpu-bound", near=0.02),
    # The host's work is Python's own: gc.collect() behind each step of the optimizer, every 16 batches.
    Case("collected_garbage", "torch transformers", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"),
         useless="no-alloc", near=0.05),
    # The host disturbs ECGs while the GPU rests: without the waits both go on at once.
    # XLA tries its kernels anew in each run, and the gradients' size at the end differs: 10.0, 10.1 and 21.0 in three bare runs.
    Case("jax_heart_beats", "jax flax optax", Fix("sync-bound", "no-sync"), Fix("host-bound", "host=0", "fix2"), useless="no-alloc",
         near=2.0),
    # The one-hot product and its gradient are the GPU's work; TF32 rounds what is looked up, the scatter adds in any order.
    Case("jax_onehot_articles", "jax optax", Fix("gpu-bound"), useless="no-sync", otherwise="gpu-bound", near=0.05),
    # The graph leaves the same kernels; fix2 launches about half as many.
    Case("cupy_debris", "cupy", Fix("launch-bound", "graphs"), Fix("launch-bound", None, "fix2"), useless="pinned"),
    # The host unpacks samples while the GPU rests: without the waits both go on at once; unpacked on the GPU, there is little to do.
    Case("cupy_whales", "cupy", Fix("sync-bound", "no-sync"), Fix("host-bound", "host=0", "fix2"), useless="no-alloc", near=0.01),
    # Numba has no graphs; one kernel instead of two is what they would come to.
    Case("numba_light_sheet", "numba", Fix("copy-bound", "pinned"), useless="graphs"),
    Case("mlm_whole_words", "torch transformers", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"),
         useless="pinned", near=0.05),
]
TRAVELLERS = [
    Case("qubit_angles", "torch", Fix("launch-bound", "graphs"), useless="no-sync", near=0.05),
    # fix2 keeps its 84 reads a step, and has a graph between each two.
    Case("matching_pursuit", "torch", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.02),
    # fix2 copies half of the bytes, from the same kind of memory.
    Case("shard_search", "torch", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), useless="no-alloc", near=0.02),
    Case("piano_rolls", "torch", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"), useless="pinned", near=0.05),
    Case("outlier_distances", "torch", Fix("gpu-bound"), useless="graphs", otherwise="gpu-bound", near=0.02),
    # The host makes bursts in most of a step, and only then the GPU learns; the loss that is waited for lets no step overlap.
    Case("jax_fading_radio", "jax", Fix("host-bound", "host=0"), Fix("sync-bound", "no-sync", "fix2"), useless="no-alloc",
         near=0.02),
    # The graph leaves the same kernels; the host's noise is a smaller part of a block.
    Case("cupy_parity_checks", "cupy", Fix("launch-bound", "graphs"), Fix("host-bound", "host=0", "fix2"), useless="no-sync",
         near=0.02),
    # One read a step is left; the graphs' launches are waited for as the others were.
    Case("cupy_tempering", "cupy", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="host=0",
         near=0.01),
    Case("numba_gestures", "numba", Fix("alloc-bound", "no-alloc"), Fix("sync-bound", "no-sync", "fix2"), useless="pinned"),
    # The copies are made by a second thread on its own stream. fix2 copies a quarter of the bytes, from the same kind of memory.
    Case("film_writer", "torch", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), Fix("host-bound", "host=0", "fix3"),
         useless="no-alloc", near=0.02),
]
WANDERERS = [
    Case("tent_wildlife", "torch timm", Fix("launch-bound", "graphs"), useless="pinned", near=0.05),
    # Two waits a round: one is inside torch.linalg.solve (it reads `info`), one is .item(). What the host launches behind them is
    # tiny kernels, what it launches before them is large ones: without the waits both go on at once. fix2 keeps both waits, and
    # has a graph between each two; the solve itself stays eager.
    Case("dense_odometry", "torch", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.02),
    # The same result by fewer operations; half precision rounds in another order, and a pixel may change its kind.
    Case("weed_maps", "torch", Fix("gpu-bound"), useless="graphs", otherwise="gpu-bound", near=0.02),
    # Scatter adds in any order.
    Case("jax_citation_walks", "jax optax", Fix("host-bound", "host=0"), useless="no-sync", near=0.02),
    # fix2 has the same kernels, in memory of their own.
    Case("cupy_tsunami", "cupy", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.01),
    # All copies are pinned and non_blocking already, by threads of their own, but on the default stream.
    Case("spectral_lines", "torch", Fix("copy-bound", "overlap"), useless="no-alloc", near=0.01),
    # Both reads of a round go; what is read is still computed, and looked at twice a problem.
    # fix2 keeps both, and has a graph between each two.
    Case("cell_fates", "torch", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.02),
    # Pinned and non_blocking already, but on the stream of the kernels. fix2 copies half of the bytes on it.
    Case("mineral_maps", "torch", Fix("copy-bound", "overlap"), Fix("copy-bound", None, "fix2"), useless="no-sync", near=0.02),
    # The host compares lines while the GPU rests: compared well, there is little to do; without the wait both go on.
    # Here the host works behind the GPU's answer, not before its batch. TF32 may turn a letter.
    Case("jax_text_lines", "jax", Fix("host-bound", "host=0"), Fix("sync-bound", "no-sync", "fix2"), useless="pinned", near=0.02),
    # The graph leaves the same kernels; fix2 launches about a sixth as many.
    Case("cupy_mixed_air", "cupy", Fix("launch-bound", "graphs"), Fix("launch-bound", None, "fix2"), useless="no-sync",
         near=0.02),
    Case("numba_picture_cloning", "numba", Fix("alloc-bound", "no-alloc"), useless="pinned"),
    # A tenth of the products' arithmetic; the GPU is at work throughout, before and after.
    Case("field_orbitals", "torch", Fix("gpu-bound"), useless="no-sync", otherwise="gpu-bound", near=0.01),
]
LODGERS = [
    # Two thousand kernels of a few microseconds each in a decision; the read of what was decided comes behind all of them.
    Case("rally_car", "torch", Fix("launch-bound", "graphs"), Fix("launch-bound", None, "fix2"), useless="no-sync", near=0.05),
    # 320 reads of one number in a step; the model before them is launched for longer than it takes, too.
    Case("protein_mutants", "torch transformers", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"),
         useless="pinned", near=0.02),
    # fix2 copies half of the bytes, from the same kind of memory.
    Case("hall_microphones", "torch torchaudio", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), useless="graphs",
         near=0.02),
    # The work is done by a thread that holds the interpreter, so that the main one can hardly launch.
    Case("go_liberties", "torch", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"), useless="pinned",
         near=0.05),
    Case("pet_deblur", "torch", Fix("gpu-bound"), useless="graphs", otherwise="gpu-bound", near=0.02),
    # The loss that is waited for lets no step overlap with the scrambling of the next one.
    Case("jax_cube_solver", "jax flax optax", Fix("host-bound", "host=0"), Fix("sync-bound", "no-sync", "fix2"),
         useless="no-alloc", near=0.05),
    Case("jax_colony_growth", "jax", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.05),
    # The frees wait for the GPU, whether or not a number is read before them.
    Case("cupy_cryo_classes", "cupy", Fix("alloc-bound", "no-alloc"), useless="no-sync", near=0.02),
    Case("cupy_plucked_strings", "cupy", Fix("launch-bound", "graphs"), Fix("launch-bound", None, "fix2"), useless="pinned",
         near=0.02),
    # The memory is pinned already; copies and kernels take about as long. fix2 copies half of the bytes.
    Case("numba_plane_waves", "numba", Fix("copy-bound", "overlap"), Fix("copy-bound", None, "fix2"), useless="pinned",
         near=0.02),
]
BOARDERS = [
    # The loss is read behind each step, but all of the step has been done by then: what is launched takes far longer to launch.
    Case("road_sensors", "torch torch_geometric", Fix("launch-bound", "graphs"), Fix("launch-bound", None, "fix2"),
         useless="no-sync", near=0.05),
    # Whether a pose is stuck is asked behind each step; the graph leaves the question, and what remembers the best poses.
    Case("ligand_poses", "torch", Fix("launch-bound", "graphs"), Fix("sync-bound", "no-sync", "fix2"),
         Fix("launch-bound", None, "fix3"), useless="no-alloc", near=0.05),
    # Some 500 reads of one number a step; the graph holds BERT and the table, between two reads there is no kernel at all.
    Case("drug_letters", "torch transformers", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"),
         useless="pinned", near=0.02),
    # What lies between two waits is one jitted function already. The result is of means, since kernels may add in any order.
    Case("jax_ward_chains", "jax", Fix("sync-bound", "no-sync"), useless="host=0", near=0.05),
    # fix waits for each slab's chances as the base does. fix2 copies half of the bytes, from and to the same kind of memory.
    Case("ct_slabs", "torch", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), Fix("copy-bound", "overlap", "fix3"),
         useless="graphs", near=0.02),
    # All is pinned and asynchronous, but on one stream; the host is one or two records ahead, and its look at them costs nothing.
    Case("cupy_shot_records", "cupy", Fix("copy-bound", "overlap"), Fix("copy-bound", None, "fix2"), useless="host=0", near=0.01),
    # The graph leaves the splitting of words, which takes about twice as long as the launches.
    Case("bpe_dropout", "torch transformers peft", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"),
         useless="no-alloc", near=0.05),
    # fix2 lets the kernel run beside the next star's median, and gains no more than that kernel's time.
    Case("numba_transits", "numba", Fix("host-bound", "host=0"), Fix("sync-bound", "no-sync", "fix2"),
         Fix("host-bound", None, "fix3"), useless="pinned", near=0.01),
    # fix2 leaves cudaFree, which waits as the read did.
    Case("cupy_harbour_sonar", "cupy", Fix("alloc-bound", "no-alloc"), Fix("sync-bound", "no-sync", "fix2"), useless="pinned",
         near=0.01),
    Case("cells_deblurred", "torch", Fix("gpu-bound"), Fix("gpu-bound", None, "fix2"), useless="graphs", otherwise="gpu-bound",
         near=0.01),
]
PASSENGERS = [
    # A round is read behind three hundred launches, which the host is busy with; the read itself waits for little.
    Case("speculative_words", "torch", Fix("launch-bound", "graphs"), Fix("sync-bound", "no-sync", "fix2"),
         Fix("launch-bound", None, "fix3"), useless="no-alloc", near=0.02),
    # fix2 brings an eighth of the bytes that come back; the scanner's go as they did.
    Case("scanned_pages", "torch", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"),
         Fix("host-bound", "host=0", "fix3"), useless="no-alloc", near=0.02),
    # NumPy has most of a step; the network is waited for before it, which fix3 spares.
    Case("shelf_products", "torch torchvision", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"),
         Fix("sync-bound", "no-sync", "fix3"), useless="pinned", near=0.02),
    Case("holdout_ranks", "torch transformers", Fix("gpu-bound"), Fix("gpu-bound", None, "fix2"), useless="no-sync",
         otherwise="gpu-bound", near=0.02),
    # Sixteen time steps of three jitted calls each; one read a step.
    Case("jax_chromatography", "jax", Fix("launch-bound"), Fix("sync-bound", "no-sync", "fix2"),
         Fix("launch-bound", None, "fix3"), useless="no-alloc", near=0.02),
    # The copies are from pinned memory already, but on the stream of the kernels. fix2 copies half of the bytes.
    Case("cupy_stress_scenarios", "cupy", Fix("copy-bound", "overlap"), Fix("copy-bound", None, "fix2"),
         Fix("sync-bound", "no-sync", "fix3"), useless="pinned", near=0.02),
    # fix2 has one kernel for a time step, not two; its read waits as before.
    Case("numba_coating_film", "numba", Fix("sync-bound", "no-sync"), Fix("launch-bound", None, "fix2"), useless="pinned",
         near=0.02),
]
PILGRIMS = [
    # The graph leaves the read of each piece; without the reads the launches take as long as before.
    Case("robot_voice", "torch transformers", Fix("launch-bound", "graphs"), Fix("sync-bound", "no-sync", "fix2"),
         useless="pinned", near=0.02),
    # fix2 copies from and to the same kind of memory, on a thread. The sums over neighbours are added in any order.
    Case("globe_mesh_weather", "torch torch_geometric", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"),
         Fix("launch-bound", "graphs", "fix3"), useless="no-alloc", near=0.02),
    # The thread that draws and the one that launches share Python's lock.
    Case("plankton_centers", "torch timm", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.05),
    # cudaFree waits for the GPU, so that without the read the next pair begins no sooner.
    Case("cupy_radar_fringes", "cupy", Fix("alloc-bound", "no-alloc"), Fix("sync-bound", "no-sync", "fix2"), useless="pinned",
         near=0.01),
    # One read in seven is left; without the dice a move is launched a bit sooner.
    Case("jax_connect_four", "jax", Fix("sync-bound", "no-sync"), Fix("host-bound", "host=0", "fix2"), useless="no-alloc",
         near=0.05),
    # jit makes fewer kernels, and launches them at once.
    Case("jax_jet_streams", "jax", Fix("launch-bound"), Fix("sync-bound", "no-sync", "fix2"), useless="no-alloc", near=0.02),
    # fix2 saves one launch of four, and some memory traffic.
    Case("numba_river_floods", "numba", Fix("sync-bound", "no-sync"), Fix(("launch-bound", "gpu-bound"), None, "fix2"),
         useless="pinned", near=0.01),
]
SETTLERS = [
    # Some 600 short kernels a picture; the graph leaves the read of one number behind them.
    Case("cloth_draping", "torch", Fix("launch-bound", "graphs"), Fix("sync-bound", "no-sync", "fix2"), useless="pinned",
         near=0.02),
    # fix2 copies a quarter of the bytes from pageable memory, and takes longer on the GPU.
    Case("gene_traits", "torch", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), useless="graphs", near=0.02),
    # The question waits for a block's kernels, which take about as long as their launches. The graphs leave all questions.
    Case("waste_sorter", "torch timm", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="pinned",
         near=0.05),
    # Without the read the GPU's part lies beside Python's, which takes most of a step. fix3 leaves some of the host's work.
    Case("card_frauds", "torch", Fix("host-bound", "host=0"), Fix("sync-bound", "no-sync", "fix2"),
         Fix("host-bound", None, "fix3"), useless="pinned", near=0.05),
    # The iterations between two questions are one jitted function each.
    Case("jax_arm_reach", "jax", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.05),
    # Two triangles and a factor for each block in the base, one triangle in the fix.
    Case("jax_soil_map", "jax", Fix("gpu-bound"), useless="no-alloc", otherwise="gpu-bound", near=0.02),
    # fix2 brings 5 bytes a point back instead of 12, to the same kind of memory.
    Case("cupy_holograms", "cupy", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), useless="no-alloc", near=0.02),
    # Numba frees what is let go in bunches, and the driver waits for the GPU then, with or without the read.
    Case("numba_flu_season", "numba", Fix("alloc-bound", "no-alloc"), Fix("sync-bound", "no-sync", "fix2"), useless="pinned",
         near=0.01),
    # fix makes fewer and larger kernels; fix2 has all of the small ones, in a graph.
    Case("evolved_drones", "torch", Fix("launch-bound"), Fix("launch-bound", "graphs", "fix2"), useless="pinned", near=0.05),
]
SAILORS = [
    # Some two hundred short kernels; the error is read behind them, when most of them have been done.
    Case("vol_smiles", "torch", Fix("launch-bound", "graphs"), Fix("sync-bound", "no-sync", "fix2"),
         Fix("launch-bound", "fused", "fix3"), useless="pinned", near=0.05),
    # Nothing is wrong: some twenty kernels of about 0.1 ms each.
    Case("condensate", "torch", useless="graphs", otherwise="gpu-bound", near=0.02),
    # The search has most of a step. Without the reads the GPU's part lies beside it; fix3 leaves the turning of the clouds.
    Case("forest_trees", "torch torch_geometric", Fix("host-bound", "host=0"), Fix("sync-bound", "no-sync", "fix2"),
         Fix("host-bound", None, "fix3"), useless="pinned", near=0.1),
    # Seven waits an iteration, between which the kernels take about as long as their launches. fix2 leaves all waits.
    Case("meeting_voices", "torch torchaudio", Fix("sync-bound", "no-sync"), Fix("launch-bound", None, "fix2"),
         useless="no-alloc", near=0.05),
    # fix2 leaves zlib, which has most of a step; fix3 has the GPU's part beside it.
    Case("relief_tiles", "torch", Fix("host-bound", "host=0"), Fix("host-bound", None, "fix2"),
         Fix("sync-bound", "no-sync", "fix3"), useless="pinned", near=0.02),
    # What lies between two reads is one jitted function; fix2 takes one read of nine away.
    Case("jax_gene_clocks", "jax", Fix("sync-bound", "no-sync"), Fix("sync-bound", None, "fix2"), useless="no-alloc",
         near=0.05),
    # cudaMallocManaged and cudaFree, and the pages that come when they are first written to; cudaFree waits as the read did.
    Case("cupy_calcium_films", "cupy", Fix("alloc-bound", "no-alloc"), Fix("sync-bound", "no-sync", "fix2"), useless="pinned",
         near=0.02),
    # fix2 copies half of the bytes there and a quarter of them back, from and to the same kind of memory.
    Case("cupy_depth_costs", "cupy", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), useless="no-alloc",
         near=0.02),
    # fix goes on in one launch for sixteen, and asks as often as before; fix2 asks three times instead of fifteen.
    Case("numba_cart_plans", "numba", Fix("launch-bound"), Fix("sync-bound", "no-sync", "fix2"), useless="pinned", near=0.01),
]
FARMERS = [
    # Workers are forked and joined in each epoch, and its first batch comes late; between, the GPU has enough to do.
    Case("sleep_stages", "torch", Fix("host-bound", "host=0"), Fix("host-bound", None, "fix2"), useless="pinned", near=0.05),
    # Some 250 kernels of a few microseconds each; fix2 has a bit more than half of them.
    Case("chip_placement", "torch", Fix("launch-bound", "graphs"), Fix("launch-bound", None, "fix2"), useless="pinned",
         near=0.05),
    # About two thirds of the GPU's work is the same in each batch; the GPU is at work throughout, before and after.
    Case("press_photos", "torch transformers", Fix("gpu-bound"), useless="no-sync", otherwise="gpu-bound", near=0.02),
    # XLA calls Python in the middle of a step, and waits for it. fix2 leaves the call, which takes a fraction of the time.
    Case("jax_heat_pipes", "jax", Fix("host-bound", "host=0"), Fix("host-bound", None, "fix2"), useless="no-alloc", near=0.02),
    # Nothing is wrong: two kernels a step, each of which reads 3.2 GB.
    Case("jax_beam_weights", "jax", useless="no-alloc", otherwise="gpu-bound", near=0.02),
    # fix2 copies a quarter of the bytes, from the same kind of memory.
    Case("cupy_radio_bursts", "cupy", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), useless="no-alloc",
         near=0.02),
    # A flight takes the GPU less and less time, and some forty of them are waited for; fix waits for five or six.
    Case("cupy_neutrons", "cupy", Fix("sync-bound", "no-sync"), useless="pinned", near=0.01),
    # It is the host's memory that is pinned, where it lies. fix2 copies from pageable memory, which takes less time than that.
    Case("numba_circuit_boards", "numba", Fix("alloc-bound", "no-alloc"), Fix("alloc-bound", None, "fix2"), useless="pinned",
         near=0.01),
]
WEAVERS = [
    # A graph replays the same kernels; the two numbers are means over the grid.
    Case("smoke_plumes", "torch", Fix("launch-bound", "graphs"), useless="no-sync", near=0.02),
    # The copies are pinned in all variants; fix2 copies half as many bytes.
    Case("cupy_event_flow", "cupy", Fix("copy-bound", "overlap"), Fix("copy-bound", None, "fix2"), useless="no-alloc", near=0.01),
    # XLA takes the fastest of several kernels; nothing but the waits keeps the host from sending tries ahead.
    Case("jax_market_prices", "jax", Fix("sync-bound", "no-sync"), useless="pinned", near=0.05),
    # With workers and with the chromosome on the GPU the host's work is gone from the way of the launches.
    Case("splice_sites", "torch", Fix("host-bound", "host=0"), Fix("host-bound", "host=0", "fix2"), useless="pinned", near=0.05),
    Case("web_rankings", "torch", Fix("launch-bound", None), Fix("launch-bound", "graphs", "fix2"), useless="no-sync", near=0.05),
    # What was sent once need not be sent again, which no change of --what-if describes.
    Case("cupy_like_molecules", "cupy", Fix("copy-bound", None), Fix("copy-bound", "pinned", "fix2"), useless="no-sync", near=0.01),
    Case("numba_sky_array", "numba", Fix("host-bound", "host=0"), Fix("host-bound", None, "fix2"), useless="pinned", near=0.01),
    # Held to have nothing wrong at its first look; its GPU was busy for 41 to 45 %.
    Case("coins_told", "torch torchvision", Fix("launch-bound", "graphs"), useless="no-sync", near=0.05),
]
MILLERS = [
    Case("bike_docks", "torch", Fix("host-bound", "host=0"), Fix("host-bound", "host=0", "fix2"), useless="pinned", near=0.05),
    # lax.scan takes away the dispatch of each half hour, and what Python does between two.
    Case("jax_greenhouses", "jax optax", Fix(("launch-bound", "host-bound")), Fix(("launch-bound", "host-bound"), None, "fix2"),
         useless="no-alloc", near=0.05),
    # The array on the host is new each time, so that its pages are written to for the first time by the copy.
    Case("cupy_woven_cloth", "cupy", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), useless="no-alloc", near=0.01),
    # fix2 also lets the host handle one batch while the next one is at work.
    Case("parcel_notes", "torch transformers", Fix("sync-bound", "no-sync"), Fix("sync-bound", "no-sync", "fix2"), useless="pinned",
         near=0.01),
    # Some 190 kernels of a few microseconds each; fix2 has a bit more than half of them. The look every 25 time steps finds little left.
    Case("grid_swings", "torch", Fix("launch-bound", "graphs"), Fix("launch-bound", None, "fix2"), useless="no-sync", near=0.05),
    # fix2 copies an eighth of the bytes, to the same kind of memory. Numba has no graphs; one kernel instead of two is what they
    # would come to.
    Case("numba_resin_layers", "numba", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), useless="graphs", near=0.01),
    # Most of a step is NumPy's work on the host. fix2 leaves it to ten processes.
    Case("tissue_tiles", "torch", Fix("host-bound", "host=0"), Fix("host-bound", None, "fix2"), useless="fused", near=0.05),
    # What lies between two waits is one jitted function already, of some 0.1 ms. XLA may add in any order.
    Case("jax_player_ratings", "jax", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.05),
]
GLAZIERS = [
    # Some 580 kernels of one or two microseconds each; the graph leaves the read of one number behind them. fix2 has less than
    # half of the kernels.
    Case("insulin_pumps", "torch", Fix("launch-bound", "graphs"), Fix("launch-bound", None, "fix2"), useless="no-sync",
         near=0.01),
    # fix2 leaves NumPy's work in the loop, which takes a third of the time then.
    Case("ship_tracks", "torch", Fix("host-bound", "host=0"), Fix("host-bound", None, "fix2"), useless="pinned", near=0.05),
    # fix2 brings a quarter of the bytes back, to the same kind of memory; the counts go as before.
    Case("cupy_luggage", "cupy", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), useless="no-alloc", near=0.01),
    # What lies between two reads is one jitted function of two Fourier transforms. Rounding makes iterations go on differently,
    # and the best misfits of a start differ by one or two percent.
    Case("jax_tiny_crystals", "jax", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.05),
    # Three numbers of each of 96 crossings, one read each: 288 waits a round, all but the first for nothing but the copy.
    Case("rail_crossings", "torch transformers", Fix("sync-bound", "no-sync"), Fix("sync-bound", "no-sync", "fix2"),
         useless="pinned", near=0.02),
    # Numba frees what is let go in bunches. Neighbours are added in any order: a gnu's way changes, and hardly the herd's.
    Case("numba_gnu_herds", "numba", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.02),
    # With threads ahead, or with the pictures on the GPU, the host's work is gone from the way of the steps.
    Case("jax_crop_seasons", "jax flax optax", Fix("host-bound", "host=0"), Fix("host-bound", "host=0", "fix2"),
         useless="no-alloc", near=0.05),
    # Nothing is wrong: products of large matrices, some 23 ms a step; the wait for the vectors costs about 1 %.
    Case("court_decisions", "torch", useless="no-sync", otherwise="gpu-bound", near=0.02),
]
DROVERS = [
    # fix2 copies a fortieth of the bytes that come back, to the same kind of memory; the panoramas go there as they did.
    Case("street_faces", "torch", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), useless="graphs", near=0.02),
    # Some 740 launches a step. The graph leaves the same kernels; fix2 has one kernel instead of all of them.
    Case("cupy_bus_batteries", "cupy", Fix("launch-bound", "graphs"), Fix("launch-bound", None, "fix2"), useless="no-sync",
         near=0.01),
    # One kernel between two reads; fix makes about 64 passes for a plan where the base makes some 61.
    Case("numba_daylight", "numba", Fix("sync-bound", "no-sync"), useless="pinned", near=0.01),
    # About three launches in five are of the loop over the weights, which fix2 spares. The numbers are read behind each step,
    # when most of it has been done. Sums over neighbours are added in any order.
    Case("pipe_leaks", "torch torch_geometric", Fix("launch-bound", "graphs"), Fix("launch-bound", None, "fix2"),
         useless="no-sync", near=0.1),
    # Some 210 calls of a few short kernels each. fix makes them for sixteen telephones at once, and has far fewer kernels;
    # fix2 has about the same kernels in a third of the calls.
    Case("jax_phones_learn", "jax", Fix(("launch-bound", "host-bound")), Fix(("launch-bound", "host-bound"), None, "fix2"),
         useless="no-alloc", near=0.02),
    # All is pinned and asynchronous, but on one stream; kernels take somewhat less time than copies.
    # fix2 copies half of the bytes.
    Case("cupy_wind_tunnel", "cupy", Fix("copy-bound", "overlap"), Fix("copy-bound", None, "fix2"), useless="no-sync",
         near=0.01),
    # With workers, and with programs that were taken apart before, the host's work is gone from the way of the launches.
    Case("printer_hours", "torch", Fix("host-bound", "host=0"), Fix("host-bound", "host=0", "fix2"), useless="pinned",
         near=0.05),
    # Some eighty reads of one number a step. fix computes what is read as before, and reads it every 50 steps;
    # fix2 leaves three reads a step, and does not compute the others; fix3 leaves all reads, between graphs.
    Case("field_seasons", "torch", Fix("sync-bound", "no-sync"), Fix("sync-bound", None, "fix2"),
         Fix("launch-bound", "graphs", "fix3"), useless="no-alloc", near=0.05),
]
POTTERS = [
    # Some 750 kernels of two or three microseconds each, in double precision; the graph leaves the read of the energies.
    # fix2 has four kernels of seven.
    Case("rna_folds", "torch", Fix("launch-bound", "graphs"), Fix("launch-bound", None, "fix2"), useless="no-sync", near=0.01),
    # Some 24 reads of one number an iteration, mostly with two kernels between. fix leaves one read of an iteration, and has
    # more launches; fix2 has two reads and far fewer launches. Rounding changes the steps a bit.
    Case("sea_heights", "torch", Fix("sync-bound", "no-sync"), Fix("sync-bound", None, "fix2"), Fix("launch-bound", "graphs", "fix3"),
         useless="no-alloc", near=0.02),
    # The memory is pinned already; kernels take about half as long as the copies, or as long. fix2 copies half of the bytes.
    Case("vandal_edits", "torch", Fix("copy-bound", "overlap"), Fix("copy-bound", None, "fix2"), useless="no-alloc", near=0.02),
    # The work is done by two workers, of which the profiled process sees only that it waits. fix2 leaves them an eighth of it.
    Case("bird_songs", "torch torchaudio", Fix("host-bound", "host=0"), Fix("host-bound", None, "fix2"), useless="pinned",
         near=0.05),
    # It is the host's memory that is registered, where it lies; a wait for the copy is between the two calls. fix2 copies from
    # pageable memory, which should take less time than they do (not measured).
    Case("paper_mill", "torch", Fix("alloc-bound", "no-alloc"), Fix("alloc-bound", None, "fix2"), useless="pinned", near=0.01),
    # Written as a program with nothing wrong. But on an H200's slow host reads that went gained 1.14 and 1.33 at the first look:
    # the fix came after it.
    Case("chest_pictures", "torch", Fix("launch-bound", "graphs"), useless="no-sync", otherwise="gpu-bound", near=0.05),
    # XLA launches some kernels for each of the 512 moments of a scan by itself; Python makes one call a step. fix has fewer and
    # larger kernels; fix2 goes through the same moments, sixteen in a kernel.
    Case("jax_tool_wear", "jax flax optax", Fix("launch-bound"), Fix("launch-bound", None, "fix2"), useless="no-alloc",
         near=0.05),
    # fix brings a quarter of the bytes, to the same kind of memory. The array on the host is new each time; its pages are
    # written to for the first time by the copy, or by a thread of XLA behind it.
    Case("jax_rain_nowcasts", "jax", Fix("copy-bound", None), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc",
         near=0.02),
    # The same sum by fewer operations; the GPU is at work throughout, before. Five numbers are read behind each quake.
    Case("jax_quake_places", "jax", Fix("gpu-bound"), useless="no-sync", otherwise="gpu-bound", near=0.02),
    # Nothing is wrong: four kernels a step, each of which reads and writes more than a gigabyte.
    Case("numba_ground_radar", "numba", useless="pinned", otherwise="gpu-bound", near=0.01),
    # 3068 launches a step; fix has one, fix2 a quarter of them. One read of four numbers behind them.
    Case("numba_manuscripts", "numba", Fix("launch-bound"), Fix("launch-bound", None, "fix2"), useless="no-sync", near=0.01),
    # Two short kernels a bounce, and a wait between them; fix launches the same ones, and waits behind 64 bounces.
    Case("numba_air_pucks", "numba", Fix("sync-bound", "no-sync"), useless="pinned", near=0.01),
]
COOPERS = [
    # Two kernels between two reads, of which the first takes nearly all of the time.
    Case("cupy_cable_roof", "cupy", Fix("sync-bound", "no-sync"), useless="pinned", near=0.02),
    # cudaMallocAsync from the driver's pool, whose threshold CuPy sets to 0: each wait gives back what is free, and what comes
    # next is mapped anew. fix2 waits once for ten pictures, and so hardly anything is given back.
    Case("cupy_burnt_forests", "cupy", Fix("alloc-bound", "no-alloc"), Fix("sync-bound", None, "fix2"), useless="pinned",
         near=0.02),
    # Nothing is wrong: one kernel has nearly all of a step. Echoes are added in any order.
    Case("cupy_concert_hall", "cupy", useless="no-sync", otherwise="gpu-bound", near=0.01),
    # Some 1400 kernels of a few microseconds each. fix2 has a bit less than half of them.
    Case("drill_ways", "torch", Fix("launch-bound", "graphs"), Fix("launch-bound", None, "fix2"), useless="no-sync", near=0.02),
    # Most of a step is Python's work between two waits, and needs what the GPU found; fix2 waits no more either.
    Case("taxi_calls", "torch", Fix("host-bound", "host=0"), Fix("host-bound", "host=0", "fix2"), useless="pinned", near=0.05),
    # All is pinned and asynchronous, on one stream. fix2 copies a bit more than a quarter of the bytes, in the same way.
    Case("coast_salt", "torch", Fix("copy-bound", "overlap"), Fix("copy-bound", None, "fix2"), useless="no-sync", near=0.01),
    # Python's search of the menu and the launches of the model take about as long; the read of a word waits for little. In fix
    # the launches are left, in fix2 the search.
    Case("till_orders", "torch transformers", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"),
         useless="pinned", near=0.02),
    # fix2 copies a quarter of the bytes, from pageable memory as before.
    Case("barn_videos", "torch transformers", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), useless="no-alloc",
         near=0.02),
    # A pool's end frees its segments, which waits for the GPU; the answer was read before. Sums are added in any order.
    Case("flight_delays", "torch torch_geometric", Fix("alloc-bound", "no-alloc"),
         Fix(("alloc-bound", "launch-bound"), None, "fix2"), useless="pinned", near=0.02),
    # Nothing is wrong: a ViT-B/16 over 192 pictures a step; the wait for the answer costs about 1 %.
    Case("stolen_art", "torch timm", useless="no-sync", otherwise="gpu-bound", near=0.02),
    # One call of a compiled function between two reads. fix makes up to 15 ticks more for a fall; fix2 leaves all reads.
    Case("rockfalls", "torch triton", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="pinned",
         near=0.05),
    # XLA compiles once in 40 steps, which takes most of the time. By rounding single timetables go other ways, not their mean.
    Case("jax_exam_dates", "jax", Fix("host-bound", "host=0"), useless="no-alloc", near=0.05),
]
THATCHERS = [
    # Some 20 ms of a step are Python's, behind the read of the table of pairs; some 100 launches are before it. fix leaves
    # some 260 rounds of short NumPy calls on the host.
    Case("translated_books", "torch transformers", Fix("host-bound", "host=0"), useless="pinned", near=0.02),
    # 85 MB go back and 21 MB come, by two calls, from and to pageable memory. fix copies the same bytes, and still waits for
    # them; fix2 copies half of them, from pageable memory as before.
    Case("karaoke_tracks", "torch", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), useless="no-alloc", near=0.02),
    # More than a dozen waits a tick, with kernels of ten or more microseconds between. fix has other kernels, without counting,
    # and no wait but every 20 ticks; fix2 gains more than fix only where launches are slow. Sums are added in any order.
    Case("bees_foraging", "torch", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.05),
    # Nothing is wrong: 32 three-dimensional FFTs a step, of 16.8 million numbers each, in one call.
    Case("jax_tremor_sound", "jax", useless="no-sync", otherwise="gpu-bound", near=0.01),
    # 1008 launches a step of kernels of a few microseconds; fix has 16. The phases of the pulse move the mean by some per cent.
    Case("numba_arteries", "numba", Fix("launch-bound"), useless="no-sync", near=0.05),
    # cudaMallocManaged and cudaFree for each array, and the kernels wait for the pages of new arrays; fix2's pages stay
    # on the GPU.
    Case("cupy_eye_layers", "cupy", Fix("alloc-bound", "no-alloc"), Fix("alloc-bound", "no-alloc", "fix2"), useless="pinned",
         near=0.01),
    # 60 rows of the Hessian, some tens of kernels of two or three microseconds each. fix has the kernels of one row, somewhat
    # larger; fix2 has all of them in a graph, and leaves some ten launches of the step behind it. Double precision throughout.
    Case("cluster_tones", "torch", Fix("launch-bound", None), Fix("launch-bound", "graphs", "fix2"), useless="no-sync",
         near=0.02),
    # zlib and NumPy take a millisecond or more for each of 32 flashes, on one thread. fix leaves that to eight threads; fix2
    # leaves the inflating, and copies some ten times the bytes. Training in bfloat16: losses differ a bit.
    Case("gamma_showers", "torch", Fix("host-bound", "host=0"), Fix("host-bound", None, "fix2"), useless="pinned", near=0.05),
    # Two reads of one number an iteration, one behind two products of some 70 microseconds together, one behind two or three
    # short kernels; 40 iterations a step. fix reads once a step; fix2 leaves a read of two numbers an iteration.
    Case("quantum_magnet", "torch", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.02),
    # Nothing is wrong: a call a step, of a few milliseconds at least, in kernels over 67 million pairs.
    Case("jax_stellarator_coils", "jax optax", Fix(("launch-bound", "host-bound"), None), Fix("sync-bound", "no-sync", "fix2"),
         useless="no-alloc", otherwise="gpu-bound", near=0.02),
    # 16.8 MB a step from pageable memory. fix2 copies half of the bytes, in the same way. Changes of spots that overlap are added
    # in any order.
    Case("cupy_xray_scans", "cupy", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), useless="no-alloc", near=0.01),
    # Six arrays a step from the driver, 4 to 12 MB the larger ones, freed in bunches; seven kernels. Rays are added in any order.
    Case("numba_heliostats", "numba", Fix("alloc-bound", "no-alloc"), useless="no-sync", near=0.01),
]
CHANDLERS = [
    # Four workers unpack a whole demonstration for each moment of a batch; the process that trains only waits for them, and its
    # launches limit what is left in fix. fix2 leaves the same work to twelve workers.
    Case("towel_folding", "torch", Fix("host-bound", "host=0"), Fix("host-bound", None, "fix2"), useless="pinned", near=0.05),
    # Two waits a moment, 47 moments a request, with a dozen kernels between, some of tens of microseconds. fix launches the same
    # ones without the two that find the trips; fix2 has views instead of a third of them. A thread makes the calls.
    Case("truck_traces", "torch", Fix("sync-bound", "no-sync"), Fix("sync-bound", None, "fix2"), useless="pinned",
         near=0.02),
    # One copy of 21 MB from pageable memory, a copy on the device, and a graph of less than a millisecond. fix2 copies less than
    # a third of the bytes, from pageable memory as before.
    Case("bottle_levels", "torch", Fix("copy-bound", "pinned"), Fix("copy-bound", None, "fix2"), useless="no-alloc", near=0.02),
    # Some 2500 kernels of two or three microseconds each. fix launches the same ones as a graph; fix2 has less than a hundred.
    # One read of the loss behind them.
    Case("fuel_hedges", "torch", Fix("launch-bound", "graphs"), Fix("launch-bound", None, "fix2"), useless="no-sync", near=0.05),
    # Nothing is wrong: some forty passes through a table of a gigabyte in one call, about 15 ms.
    Case("jax_metro_trips", "jax", useless="no-alloc", otherwise="gpu-bound", near=0.02),
    # Each array of some 30 MB is taken by cudaMalloc and given back by cudaFree, which waits; there are about thirty calls of
    # each a step. fix2 has fewer, mostly of small arrays, and fewer kernels.
    Case("cupy_page_tests", "cupy", Fix("alloc-bound", "no-alloc"), Fix("alloc-bound", None, "fix2"), useless="pinned",
         near=0.02),
    # Some thousand kernels of a few microseconds a step, and half as many without a backward pass behind ten of them. The graphs
    # leave the read of the loss, behind each step.
    Case("amphora_profiles", "torch", Fix("launch-bound", "graphs"), useless="no-sync", near=0.02),
    # Python goes down and up a tree for 1024 moves, before and after some hundred launches; it needs what the GPU found. fix2
    # waits for nothing but has all work of the tree on the GPU. By rounding another move may be drawn now and then.
    Case("falling_blocks", "torch", Fix("host-bound", "host=0"), Fix("host-bound", "host=0", "fix2"), useless="pinned",
         near=0.05),
    # 16.8 MB a step come to an array on the host that is new each time; fix brings a thirty-second part of them.
    Case("jax_fort_views", "jax", Fix("copy-bound", None), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc", near=0.01),
    # Two calls of jitted functions between two reads of one number, 40 times a step. fix has one call of both instead of the two,
    # and no read; fix2 has one call a step. By rounding a try may be taken in one variant, and not in another one.
    Case("jax_roman_roads", "jax", Fix("sync-bound", "no-sync"), Fix("sync-bound", None, "fix2"), useless="no-alloc", near=0.02),
    # A pool's end gives some fifteen segments back to the driver, of 25 to 400 MB; the next rock allocates them anew. Three
    # numbers are read behind each rock.
    Case("cupy_rock_carvings", "cupy", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # Nothing is wrong: one kernel has nearly all of a step.
    Case("numba_poker_odds", "numba", useless="no-sync", otherwise="gpu-bound", near=0.01),
]
WHEELWRIGHTS = [
    # Some thousand kernels of two or three microseconds a step, in eager operations on 53 thousand points. fix launches the same
    # ones as a graph; both read twelve numbers behind a step.
    Case("convection_rolls", "torch", Fix("launch-bound", "graphs"), useless="no-sync", near=0.02),
    # Three reads of one number an iteration, each behind a product with a matrix of 165 MB (some 60 microseconds) and a few short
    # kernels; 30 iterations a step. fix launches the same kernels, and reads once a step.
    Case("dose_plans", "torch", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc", near=0.02),
    # One copy of 19 MB a step from pageable memory, and some 150 kernels behind it, of a few milliseconds together. fix2 copies
    # the same bytes from pageable memory while these run; the host waits for them as before.
    Case("sign_words", "torch torchvision", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc",
         near=0.02),
    # Six arrays of 34 MB a step from the driver and a small one, freed in bunches; seven kernels of some 30 microseconds, and a
    # read of 4 KB. fix leaves the kernels and the read.
    Case("numba_loan_losses", "numba", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # Python goes through 32768 letters and makes lists of numbers, some 6 ms, before each call of a jitted function of one or two
    # milliseconds, which copies 262 KB. fix leaves the call and the copy. The loss is read every 20 steps.
    Case("jax_typing_errors", "jax optax", Fix("host-bound", "host=0"), useless="no-alloc", near=0.02),
    # Nothing is wrong: one kernel of some milliseconds has nearly all of a step; 128 bytes are read behind it. Photons are added
    # in any order.
    Case("cupy_skin_light", "cupy", useless="no-sync", otherwise="gpu-bound", near=0.01),
    # Some 600 kernels of two or three microseconds a step, forward, backward and of Adam; no wait but a look every 50 steps.
    # The graph launches the same ones, and a copy of 0.46 MB on the device ahead; Adam's small kernels differ a bit
    # (capturable).
    Case("arm_masses", "torch", Fix("launch-bound", "graphs"), useless="no-sync", near=0.02),
    # Two reads of one number a round, 24 rounds a step: one behind a product of some 100 microseconds and a few short kernels,
    # one behind two short ones. fix reads once a step (all variants do that); fix2 leaves a read of one number a round.
    Case("nitride_sheet", "torch", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.02),
    # One copy of 16.8 MB a step from pageable memory; some 15 kernels of less than a millisecond together, and a read of 9 kB
    # behind them. fix2 copies the same bytes from pageable memory, on another stream behind the launches of the kernels.
    Case("cupy_brake_squeal", "cupy", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc",
         near=0.01),
    # Six arrays a step from the driver, of 2.1, 7.9, 7.9 and 23.6 MB the larger ones, freed in bunches; six kernels of some 0.4
    # ms together. No wait but a look every 100 steps.
    Case("numba_solvent_skin", "numba", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # Python takes some 25 to 30 ms for 82 thousand lines of text a step, ahead of two copies of 131 kB and some 200 launches;
    # the GPU needs some 5 ms. fix leaves the copies and launches; fix2 leaves Python's work. Products in TF32.
    Case("playlist_gaps", "torch transformers", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"),
         useless="pinned", near=0.05),
    # Nothing is wrong: a call a step, of a few milliseconds, over 134 million values of tones; the losses are read every ten
    # steps.
    Case("jax_bell_foundry", "jax optax", Fix(("launch-bound", "host-bound"), None), Fix("sync-bound", "no-sync", "fix2"),
         useless="no-alloc", otherwise="gpu-bound", near=0.02),
]
FLETCHERS = [
    # Some 250 kernels of two to four microseconds a step, forward, backward and those of Adam; nothing is read. 200 KB come once
    # in 100 steps. fix launches the same kernels as a graph.
    Case("lens_arcs", "torch", Fix("launch-bound", "graphs"), useless="pinned", near=0.02),
    # 50 MB come and 25 MB go, pinned and asynchronous, on the stream of some 25 kernels of 1 to 1.5 ms together; the host waits
    # for a frame of four turns ago, while the GPU has work. fix has the same copies on two other streams.
    Case("film_dailies", "torch", Fix("copy-bound", "overlap"), useless="no-alloc", near=0.01),
    # Some 20 ms of Python for 45 000 draws, then two pageable copies of 1 MB together, and some hundred launches of short
    # kernels. fix leaves the copies and the launches. Messages are added in any order.
    Case("spam_callers", "torch torch_geometric", Fix("host-bound", "host=0"), useless="pinned", near=0.05),
    # Some thirty levels forward, each one kernel of up to some 40 microseconds and a copy of 512 bytes to pageable memory, which
    # waits; as many short kernels back without a copy. fix has the same kernels; what launches take in Python limits it.
    Case("numba_fibre_net", "numba", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="pinned",
         near=0.02),
    # Some thirty arrays of 16 MB a step are taken by cudaMalloc and given back by cudaFree, six times when the pool is emptied;
    # some hundred kernels of 5 to 20 microseconds. Seven numbers are read behind them.
    Case("cupy_river_gravel", "cupy", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # 120 calls a step of a jitted function with a few kernels of two to four microseconds, and nothing is read. fix has one call;
    # its loop has the kernels of a moment, XLA may fuse them another way, and what Python does between the calls goes away too.
    Case("jax_lava_flows", "jax", Fix(("launch-bound", "host-bound"), None), useless="no-alloc", near=0.02),
    # Some 80 launches a tick of kernels of two or three microseconds, and one read of one number; 40 ticks a step. fix leaves the
    # launches without the reads; fix2 leaves five launches and the read. 64 numbers are read behind each step.
    Case("glider_thermals", "torch", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="pinned",
         near=0.05),
    # One call of a jitted function between two reads of one number, 16 times a step, of some 150 to 300 microseconds on the GPU.
    # fix leaves one read a step. By rounding a way may be taken in one variant, and not in another one.
    Case("jax_well_switches", "jax", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.05),
    # Nothing is wrong: one call of 72 passes through a table of 67 MB, ten or more milliseconds, and a read of one number.
    Case("jax_watchmen", "jax", Fix("sync-bound", "no-sync"), useless="pinned", otherwise="gpu-bound", near=0.01),
    # 40 launches of some 30 microseconds each, and 33.5 MB come to pageable memory, by a call that waits. fix brings the same
    # bytes, and waits every 20 steps only; fix2 brings them by another stream, while the next ticks are under way.
    Case("numba_motorways", "numba", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-sync",
         near=0.01),
    # Some ten segments of 14 to 80 MB are freed before each step, and allocated anew in it; some 30 kernels, a millisecond or
    # two together. One read of four numbers a step.
    Case("cupy_line_loads", "cupy", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.02),
    # NumPy takes ten or more milliseconds a batch; then four short copies from pageable memory, and less than 100 launches, of
    # a millisecond together. fix leaves the copies and launches.
    Case("pyg_alloy_cells", "torch torch_geometric", Fix("host-bound", "host=0"), useless="pinned", near=0.02),
]
SADDLERS = [
    # Some 40 kernels of two or three microseconds a hop, 32 hops a step; nothing is read but two numbers every 50 steps. fix
    # launches the same ones as a graph.
    Case("hearing_aids", "torch", Fix("launch-bound", "graphs"), useless="pinned", near=0.02),
    # Four reads of one number a round, behind two products with a matrix of 105 MB (some 30 microseconds each) and a dozen short
    # kernels; 30 rounds a step. fix launches the same kernels, and reads twice a step; fix2 reads once a round.
    Case("word_twins", "torch", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.02),
    # One copy of 16.8 MB a step from pageable memory, and some ten kernels of half a millisecond together; two numbers are read
    # every 25 steps. fix2 copies the same bytes from pageable memory, on another stream behind the launches of the kernels.
    Case("cupy_steel_strips", "cupy", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc",
         near=0.02),
    # Three arrays of 25 MB a step from the driver, one of 0.5 MB and a small one, freed in bunches; six kernels of some 0.2 ms
    # together. No wait but a look every 50 steps. Sums are added in any order.
    Case("numba_gearboxes", "numba", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.02),
    # Python takes some 12 ms for 16 thousand codes a step, before each call of a jitted function of one or two milliseconds,
    # which copies 221 KB. fix leaves the call and the copy. The loss is read every 20 steps.
    Case("jax_clinic_codes", "jax optax", Fix("host-bound", "host=0"), useless="no-alloc", near=0.02),
    # Nothing is wrong: some 350 kernels a step, of ten milliseconds together, mostly products of matrices in bfloat16; five
    # numbers are read every 20 steps. fix launches the same ones as a graph.
    Case("candled_eggs", "torch timm", Fix("launch-bound", "graphs"), useless="pinned", otherwise="gpu-bound", near=0.02),
    # Some 900 kernels of two or three microseconds a step, in eager operations on 384 by 384 places; nothing is read but 256
    # bytes every 64 steps. The graph launches the same ones; two copies of one number are ahead of it in both, one behind.
    Case("glacier_ice", "torch", Fix("launch-bound", "graphs"), useless="pinned", near=0.02),
    # Two reads of one number a gauge, 48 gauges a step, each behind some 15 kernels of 4 to 15 microseconds and a product with a
    # matrix of up to 197 MB (up to some 80). fix reads twice a step; fix2 leaves the reads, and has a graph for each gauge.
    Case("rain_gauges", "torch", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.02),
    # One copy of 33.5 MB a step from pageable memory, which waits; some six kernels behind it, of some 0.3 ms together. 66 KB are
    # read every 40 steps. fix2 copies the same bytes from pageable memory, by another stream, behind the launches of the kernels.
    Case("cupy_wind_lidar", "cupy", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc",
         near=0.01),
    # Five arrays of 16.8 MB a step from the driver, freed in bunches of ten; five kernels of some 0.15 ms together. No wait but a
    # read of 197 KB every 60 steps.
    Case("numba_solar_parks", "numba", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # NumPy takes some 12 to 20 ms a batch, ahead of a copy of 0.5 MB from pageable memory and some 70 launches, of a millisecond
    # together on the GPU. fix leaves the copy and the launches; fix2 leaves NumPy's work and the copy. Convolutions in TF32.
    Case("hail_radar", "torch torchvision", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"), useless="pinned",
         near=0.02),
    # Nothing is wrong: one call of some eight milliseconds, with two products of 137 GFLOP each; twelve times 12 bytes are read
    # every 24 steps.
    Case("jax_climate_twins", "jax", useless="no-sync", otherwise="gpu-bound", near=0.02),
]
GLOVERS = [
    # Some 600 kernels of two or three microseconds a step (ten moments of sixty), on 82 thousand numbers; a number is read every
    # hundred steps, else nothing waits. fix launches the same kernels as a graph.
    Case("distillation_trays", "torch", Fix("launch-bound", "graphs"), useless="no-sync", near=0.02),
    # 24 passes a step of some 15 kernels, two Fourier transforms of 13 MB among them, of some 120 microseconds together; behind
    # each, one number is read. fix has the same kernels and one read a step; fix2 has a pass as a graph, and reads as before.
    Case("laser_cavity", "torch", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.02),
    # One copy of 33.5 MB a step from pageable memory, and seven kernels behind it, of some 0.6 ms together; a number is read
    # every 20 steps. fix2 copies the same bytes from pageable memory on another stream, behind the launches of the kernels.
    Case("cupy_ion_flights", "cupy", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc",
         near=0.01),
    # Six arrays a step from the driver (4 to 28 MB, 107 MB together), freed in bunches; six kernels of some 0.3 ms together.
    # 147 kB are read every 50 steps. fix leaves kernels and reads. Sums of cells are added in any order.
    Case("numba_muon_pictures", "numba", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # NumPy takes some 15 to 25 ms for 144 stamps; then one copy of 2.3 MB from pageable memory, and some 70 launches of one or
    # two milliseconds. fix leaves the copy and the launches; fix2 leaves NumPy's work and the copy. Convolutions in TF32.
    Case("survey_alerts", "torch torchvision", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"),
         useless="no-alloc", near=0.02),
    # Nothing is wrong: one call a step, with 4.3 thousand million sines, of some five to twelve milliseconds; a number is
    # read every ten steps.
    Case("jax_powder_rings", "jax", useless="no-alloc", otherwise="gpu-bound", near=0.02),
    # Some 1200 kernels of two or three microseconds a step, on 133 thousand numbers; 100 gains are read every 50 steps, and 48 kB
    # come once in 100 steps. fix launches the same kernels as a graph.
    Case("callable_bonds", "torch", Fix("launch-bound", "graphs"), useless="pinned", near=0.02),
    # One call of a jitted function between two reads of one number, 24 times a step; a call is a softmax and sums over an array
    # of 84 MB, some 80 to 120 microseconds. fix reads once in 20 steps.
    Case("jax_empty_containers", "jax", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.02),
    # One copy of 27.5 MB a step from pageable memory, and some 30 kernels behind it, of a millisecond together. Three numbers are
    # read every 20 steps. fix2 copies the same bytes from pageable memory while these run; the host waits for them as before.
    Case("cupy_mouldy_maize", "cupy", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc",
         near=0.02),
    # Four arrays a step from the driver, of 134, 34, 34 and 2 MB, freed in bunches; eight kernels of some 0.4 ms together.
    # Nothing is read; 16 kB come once in 64 steps.
    Case("numba_fog_of_war", "numba", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # Python takes some 20 to 40 ms for 192 lines of text a step; then three copies of 1.2 MB together from pageable memory, and
    # some 200 launches of short kernels. fix leaves the copies and launches; fix2 leaves Python's reading. Messages are added
    # in any order.
    Case("virus_trees", "torch torch_geometric", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"),
         useless="pinned", near=0.05),
    # Nothing is wrong: some 1000 kernels of some 20 ms together, which the host launches in about half of that time; a number is
    # read every 20 steps.
    Case("instrument_tags", "torch timm", Fix("launch-bound", "graphs"), useless="no-sync", otherwise="gpu-bound", near=0.05),
]
TANNERS = [
    # Some 700 kernels of two to four microseconds a step (forward, backward, clipping, momentum) on 16 small pictures; two small
    # copies on the device before them in all variants; a number is read every 50 steps. fix launches the same ones as a graph.
    Case("fish_passes", "torch timm", Fix("launch-bound", "graphs"), useless="pinned", near=0.05),
    # One read of one number behind each call of a jitted function, eight calls a step, of some 50 kernels and 0.3 to 0.4 ms each
    # (mostly Adam on a table of 51 MB). 32 bytes are read every 25 steps. Slopes of the table are added in any order.
    Case("jax_library_loans", "jax flax optax", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.02),
    # One copy of 24.9 MB a step from pageable memory, which waits, and some 50 kernels behind it, of a millisecond together;
    # eight numbers are read every 25 steps. fix2 copies the same bytes from pageable memory by another stream, behind
    # the launches; fix3 has the same copy, and the kernels as a graph. Convolutions in bfloat16.
    Case("swim_races", "torch torchvision", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"),
         Fix("launch-bound", "graphs", "fix3"), useless="no-alloc", near=0.02),
    # The Trainer's loop: some 600 kernels of some 18 ms together in 32 bits; behind each step all cached memory (some 70
    # blocks of 11 to 46 MB, and smaller ones) goes back to the driver, which waits. A number is read every 25 steps. The loop is
    # the Trainer's, so there is no graph of a step; train() takes some 0.1 s before its first step.
    Case("coughs_heard", "torch transformers accelerate", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.05),
    # Python takes some 10 to 15 ms for 512 visits a step; then one copy of 524 KB from pageable memory, and some 170 launches of
    # one or two milliseconds together. fix leaves the copy and the launches; fix2 leaves Python's work and the copy. Slopes of
    # the tables are added in any order.
    Case("museum_tours", "torch", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"), useless="pinned",
         near=0.05),
    # Nothing is wrong: four correlations a step with 25 by 25 points on 2.4 million, some 6 to 20 ms together, and four short
    # kernels; twelve bytes are read every 20 steps.
    Case("cupy_brush_strokes", "cupy", useless="no-alloc", otherwise="gpu-bound", near=0.01),
    # Some 230 kernels of two or three microseconds a step (forward, backward, clipping, AdamW of a small PatchTST), and one
    # for the batch; a number is read every 50 steps, else nothing waits. fix launches the same kernels as a graph.
    Case("cold_stores", "torch transformers", Fix("launch-bound", "graphs"), useless="no-sync", near=0.02),
    # Eight kernels a round (messages of 48 MB), of some 150 to 200 microseconds, and some 100 of Python; behind each of 24
    # rounds a step one number is read, and one at the end. fix reads once a step; fix2 has two graphs, of a round each, and
    # reads as before. Messages are added in any order.
    Case("company_owners", "torch torch_geometric", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"),
         useless="no-alloc", near=0.02),
    # Some 70 kernels of two or three milliseconds, then a copy of 33.5 MB to pageable memory, which waits. fix has pinned
    # memory and no wait; fix2 copies to pageable memory on another stream, behind the launches of the next batch; fix3
    # launches the same kernels as a graph, and copies and waits as before. Products of matrices in TF32.
    Case("emigrant_letters", "torch transformers", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"),
         Fix("launch-bound", "graphs", "fix3"), useless="no-alloc", near=0.02),
    # Three arrays of 107 MB a step and two or three small ones from the driver; the pool is emptied behind each step, by as
    # many frees, which wait. Seven kernels of some 0.3 ms together; 147 kB are read every 48 steps. fix leaves kernels and
    # reads.
    Case("cupy_meter_motifs", "cupy", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # Python's tidying and the tokenizer (one thread) take some 10 to 20 ms for 64 recipes a step; then three copies of 133 kB
    # together from pinned memory, and some 500 launches of some 5 ms, of three milliseconds on the GPU. fix leaves copies and
    # launches; fix2 leaves the host's work and the copies. A number is read every 25 steps.
    Case("recipe_allergens", "torch transformers tokenizers", Fix("host-bound", "host=0"),
         Fix("launch-bound", "graphs", "fix2"), useless="no-sync", near=0.05),
    # Nothing is wrong: one call a step, with products of matrices of two TFLOP in bfloat16, of some seven to ten
    # milliseconds; a number is read every 20 steps.
    Case("jax_stay_lengths", "jax flax optax", useless="no-alloc", otherwise="gpu-bound", near=0.05),
]
TURNERS = [
    # Some 1000 kernels of two microseconds a step (30 a moment, 32 moments), on 640 numbers; a copy of 128 bytes before them, and
    # 32 numbers are read behind them, for which the host waits. fix launches the same kernels as a graph and reads as before;
    # fix2 reads once in 20 steps.
    Case("turbine_rotors", "torch", Fix("launch-bound", "graphs"), Fix("sync-bound", "no-sync", "fix2"), useless="pinned",
         near=0.02),
    # The cache is emptied once a step, so some ten segments (2 to 300 MB) are freed and taken from the driver; 120 kernels of
    # some 3 to 5 ms together, a copy of 0.8 to 2.3 MB before them, and a wait for a small answer. Shapes change each step, so
    # there is no graph. fix leaves all but the emptying; fix2 reads once in 12 steps, and empties as before. A thread does it.
    Case("fibre_quakes", "torch transformers", Fix("alloc-bound", "no-alloc"), Fix("sync-bound", "no-sync", "fix2"),
         useless="pinned", near=0.02),
    # One copy of 42 MB a step from pageable memory, which waits, and eight kernels behind it, of some 0.4 ms in all. Two numbers
    # are read every 20 steps. fix2 copies the same bytes from pageable memory on another stream, behind the launches.
    Case("cupy_blade_films", "cupy", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc",
         near=0.02),
    # Two calls of jitted functions between two reads of one number, 96 times a step; both calls together some 100 to 250
    # microseconds, of a few kernels. 34 numbers are read behind a step. fix has the same calls and reads once in ten steps; fix2
    # has one call between two reads, and reads as before.
    Case("jax_hall_blasts", "jax", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.02),
    # Python takes some seven milliseconds for 1500 telegrams a step; then a copy of 6 KB from pageable memory, two kernels of
    # some 0.7 ms together, and 512 bytes are read, for which the host waits. fix leaves copy, kernels and read; fix2 leaves
    # Python's work, and reads 20 such answers once in 20 steps.
    Case("numba_lightning", "numba", Fix("host-bound", "host=0"), Fix("sync-bound", "no-sync", "fix2"), useless="pinned",
         near=0.02),
    # Nothing is wrong: two products of a matrix of 4.3 GB with a vector, of 0.9 to 1.6 ms each, and some 15 short kernels a step;
    # two numbers are read every 40 steps. fix launches the same ones as a graph.
    Case("salt_gravity", "torch", Fix("launch-bound", "graphs"), useless="no-sync", otherwise="gpu-bound", near=0.02),
    # Some 800 kernels of two or three microseconds a step (24 moments of 33), on 66 thousand numbers; three numbers are read
    # every 50 steps, else nothing waits. fix launches the same kernels as a graph.
    Case("market_makers", "torch", Fix("launch-bound", "graphs"), useless="pinned", near=0.05),
    # One call of a jitted function between two reads of one number, 24 times a step; a call has five products of matrices and
    # some sums over arrays of 19 MB, some 100 to 200 microseconds. fix reads 96 bytes once a step, as the base does as well.
    Case("jax_wolf_dogs", "jax", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.02),
    # One copy of 33.5 MB a step from pageable memory, and two kernels behind it, of some 0.6 to 1.5 ms together; 768 bytes are
    # read every 24 steps. fix2 copies the same bytes from pageable memory on another stream, behind the launches of the kernels.
    Case("numba_blood_cells", "numba", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-sync",
         near=0.01),
    # Some 17 kernels a step over arrays of 63 MB, of some 0.7 ms together; the pool is emptied behind them, so that four such
    # arrays and some small ones come from the driver each step. 32 bytes are read every 40 steps.
    Case("cupy_margin_calls", "cupy", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # Python reads 512 boards in some 5 to 9 ms a step; then two copies of 311 kB together from pageable memory, and some 75
    # launches, of one or two milliseconds together, in TF32. fix leaves the copies and launches; fix2 leaves Python's reading.
    Case("bridge_boards", "torch", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"), useless="pinned",
         near=0.02),
    # Nothing is wrong: some 130 kernels a step, most of the time in convolutions in TF32, of five to twenty milliseconds
    # together; two numbers are read every 20 steps. fix launches the same ones as a graph.
    Case("echo_hearts", "torch torchvision", Fix("launch-bound", "graphs"), useless="no-sync", otherwise="gpu-bound", near=0.02),
]
MASONS = [
    # Some 540 kernels of two microseconds an hour (each layer by itself, on 4096 numbers), and a copy of 16 bytes on the device
    # before them; four numbers are read every 50 steps, else nothing waits. fix launches the same kernels as a graph.
    Case("snow_packs", "torch", Fix("launch-bound", "graphs"), useless="pinned", near=0.02),
    # One call of a jitted function between two reads of one number, 24 times a step; a call has a few kernels over arrays of
    # 50 MB, some 150 to 250 microseconds together. 16 bytes are read every ten steps, in fix as well.
    Case("jax_irrigation_wells", "jax", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.02),
    # One copy of 37.7 MB a step from pageable memory, which waits, and four kernels behind it, of some two milliseconds in all.
    # Two numbers are read every 20 steps. fix2 copies the same bytes from pageable memory on another stream, behind the
    # launches.
    Case("cupy_ocean_colour", "cupy", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc",
         near=0.02),
    # Python reads 1152 reports in some five to ten milliseconds a step; then a copy of 74 KB from pageable memory, and some 100
    # launches of one or two milliseconds (forward, backward, clipping, momentum). fix leaves the copy and the launches; fix2
    # leaves Python's reading and the copy. Two numbers are read every 25 steps.
    Case("fog_reports", "torch", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"), useless="pinned", near=0.05),
    # Two causes: NumPy takes some 6 to 9 ms a step for 160 patches, and the host waits 3 to 4 ms for their copy, 31.5 MB from
    # pageable memory; then some 75 launches of a millisecond, of some two on the GPU, in bfloat16.
    # Eight numbers are read every 20 steps.
    Case("coral_points", "torch torchvision", Fix("host-bound", "host=0"), Fix("copy-bound", "pinned", "fix2"),
         Fix("launch-bound", "graphs", "fix3"), useless="no-alloc", near=0.02),
    # Five arrays of 78.6 MB and one of 393 KB a step from the driver, and as many frees, eleven at a time, which wait; six
    # kernels of some 0.4 ms together. 393 KB are read every 40 steps. fix leaves kernels and reads.
    Case("numba_swell_forecast", "numba", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # Some 720 kernels of one to three microseconds a step (four instants of some 180: kinetics, and an elimination of 20 rings
    # with nine kernels for each); two numbers are read every 50 steps, else nothing waits. fix launches the same ones as a graph.
    Case("fuel_pins", "torch", Fix("launch-bound", "graphs"), useless="pinned", near=0.02),
    # Two kernels of some 25 to 35 microseconds (some 120 MB) and one read of four bytes, 64 times a step; some six short kernels
    # besides, and four bytes at the end. fix reads 260 bytes once a step; fix2 has graphs of two kernels, and reads as before.
    Case("cupy_drift_wires", "cupy", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.02),
    # Some 60 kernels of some 25 microseconds a step (Fourier transforms of 8.4 million numbers, and what is between them), of
    # some 1.3 to 2 ms together, then one copy of 33.5 MB to pageable memory, which waits. fix has pinned memory, and waits for
    # the picture of two steps before; fix2 copies to pageable memory on another stream, behind the next launches; fix3 copies
    # as the base does.
    Case("solder_grains", "torch", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"),
         Fix("launch-bound", "graphs", "fix3"), useless="no-alloc", near=0.02),
    # 18 arrays of 16.8 MB a step from the driver, and as many frees (Numba does eleven or so at a time), which wait; 18 kernels,
    # of 0.2 ms for each three. Four bytes are read every 20 steps. Numba has no graphs. fix has the same kernels and reads.
    Case("numba_asteroids", "numba", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # Nothing is wrong: some 190 kernels a step, most of the time in convolutions in bfloat16, of some 12 to 25 ms together; five
    # numbers are read every 20 steps. fix launches the same ones as a graph, behind the same copy on the device.
    Case("sun_spots", "torch torchvision", Fix("launch-bound", "graphs"), useless="no-sync", otherwise="gpu-bound", near=0.02),
    # Two causes, of about 2:1: Python and NumPy take some five milliseconds for 128 events a step; then comes one call with
    # 197 kB from the host, of two or three milliseconds on the GPU (nearly all in one kernel), and 2 KB are read, for which the
    # host waits. fix leaves the call and the read; fix2 leaves the host's work, and reads 20 such answers once in 20 steps.
    Case("jax_ice_neutrinos", "jax", Fix("host-bound", "host=0"), Fix("sync-bound", "no-sync", "fix2"), useless="no-alloc",
         near=0.02),
]
SMITHS = [
    # Some 1000 kernels of two or three microseconds a step (47 words of about 20 kernels, forward and backward, an encoder of
    # two layers, clipping, AdamW), and two small copies on the device before them; a number is read every 50 steps, else
    # nothing waits. fix launches the same kernels as a graph.
    Case("index_cards", "torch", Fix("launch-bound", "graphs"), useless="no-sync", near=0.05),
    # One call of a jitted function between two reads of one number, 16 times a step; a call has a few kernels, of which two
    # go over 230 MB, of some 130 to 200 microseconds together. 64 bytes are read every ten steps in all variants.
    Case("jax_parish_links", "jax", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.01),
    # One copy of 49 MB a step from pageable memory, which waits, and some 110 kernels behind it, of some 0.7 ms together; a
    # number is read every 25 steps. fix2 launches the same kernels as a graph, behind the same copy.
    Case("statute_topics", "torch", Fix("copy-bound", "pinned"), Fix("launch-bound", "graphs", "fix2"), useless="no-sync",
         near=0.05),
    # Python (the collate function of a DataLoader without workers) takes some 6 to 8 ms for 512 declarations a step; then two
    # copies of 397 kB together from pageable memory, and some 60 launches of a millisecond. Two numbers are read every 25
    # steps. fix leaves copies and launches; fix2 leaves Python's work and the copies.
    Case("customs_goods", "torch", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"), useless="pinned",
         near=0.05),
    # Nothing is wrong: three kernels a step, of which the first takes nearly all the time, some 3 to 10 ms; 24 bytes are read
    # every 20 steps.
    Case("numba_ledger_names", "numba", useless="no-sync", otherwise="gpu-bound", near=0.01),
    # Two causes: Python reads six XML files in some 5 to 7 ms a step, and 24.5 MB come from pageable memory by a copy that
    # waits (2 to 4 ms), behind one of 10 kB; then some 50 kernels of some 0.8 ms together. Five numbers are read every 25
    # steps. fix leaves the copies and launches, fix2 all but the wait for the scans' copy, fix3 the reading and the copies.
    Case("newspaper_blocks", "torch torchvision", Fix("host-bound", "host=0"), Fix("copy-bound", "pinned", "fix2"),
         Fix("launch-bound", "graphs", "fix3"), useless="no-sync", near=0.02),
    # Some 350 kernels of two or three microseconds a step (forward, backward, clipping, AdamW of a small spectrogram
    # transformer), two small copies on the device before them; a number is read every 50 steps, else nothing waits. fix
    # launches the same ones as a graph.
    Case("bow_strokes", "torch transformers", Fix("launch-bound", "graphs"), useless="pinned", near=0.05),
    # One call of a jitted function (slopes; some 100 kernels, under a millisecond), then some 800 operations of the optimizer
    # on 42 small arrays, one by one, of some ten milliseconds; a number is read every 50 steps. fix is one call, with fused
    # kernels.
    Case("jax_ventilators", "jax flax optax", Fix("launch-bound", "graphs"), useless="no-sync", near=0.05),
    # Seven kernels a round, two of which read 85 MB, some 60 microseconds together; behind each of 60 rounds a step a number is
    # read, and one behind every tenth (three larger kernels). fix reads three numbers once a step; fix2 has three graphs, of a
    # few kernels each, and reads as before.
    Case("commuter_trips", "torch", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.02),
    # A copy of 25 MB from pageable memory and one of 25 MB to it each step, which wait, and some eight kernels between them, of
    # a millisecond. 24 bytes are read every 40 steps. fix2 copies the same bytes from pageable memory by another stream,
    # behind the launches; the copy back is as before.
    Case("village_minds", "torch", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc",
         near=0.02),
    # Python takes some 15 to 20 ms to put 1024 graphs together a step; then four copies of 3 MB together from pageable memory,
    # and some 150 launches of some 4 ms, of one or two on the GPU. fix leaves copies and launches; fix2 leaves the loader's work
    # and the copies. A number is read every 50 steps. Messages are added in any order.
    Case("football_passes", "torch torch_geometric", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"),
         useless="no-sync", near=0.05),
    # Some ten kernels and two fills a step over arrays of 133 MB, of some 0.9 ms together; the pool is emptied behind them, so
    # that four or five such arrays, one of 33 MB and some small ones come from the driver each step. 1920 bytes are read every
    # 40 steps.
    Case("cupy_junction_films", "cupy", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
]
BRAZIERS = [
    # Some 550 kernels of two microseconds a step (16 moments of 34, on 65536 numbers each), and a copy of 32 bytes on the device
    # before them; 32 bytes are read every 50 steps, else nothing waits. fix launches the same kernels as a graph.
    Case("alnico_ageing", "torch", Fix("launch-bound", "graphs"), useless="pinned", near=0.02),
    # One call of a jitted function between two reads of one number, 16 times a step; a call has four Fourier transforms of 4.2
    # million numbers and a few kernels besides, of some 150 to 250 microseconds together. 64 bytes are read every ten steps, in
    # fix as well.
    Case("jax_comet_comae", "jax", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.02),
    # One copy of 32.8 MB a step from pageable memory, which waits, and five kernels behind it, of some 1.0 to 1.5 milliseconds in
    # all (most of it in one product of matrices in float32). A number is read every 20 steps. fix2 copies the same bytes from
    # pageable memory on another stream, behind the launches.
    Case("cupy_beet_fields", "cupy", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc",
         near=0.02),
    # Four arrays of 85 MB a step from the driver, and as many frees, eleven or so at a time, which wait; six kernels of some 0.5
    # ms together. 1.3 KB are read every 40 steps. fix leaves kernels and reads. Numba has no graphs.
    Case("numba_thirsty_fields", "numba", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # Python reads 1536 sentences in some 5 to 9 ms a step and draws 64 pictures; then a copy of 786 KB from pageable memory,
    # and some 75 launches of one or two milliseconds (a ResNet-18 in bfloat16). fix leaves the copy and the launches; fix2
    # leaves Python's reading and the copy. Five numbers are read every 25 steps.
    Case("fishing_boats", "torch torchvision", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"),
         useless="no-alloc", near=0.02),
    # Nothing is wrong: four kernels a step, of which the third takes nearly all the time, some 2 to 5 ms; 1 KB is read every 20
    # steps.
    Case("numba_quasar_lenses", "numba", useless="pinned", otherwise="gpu-bound", near=0.01),
    # Some 490 kernels of two microseconds an hour (each flow of each organ by itself, on 8192 numbers), and a copy of 33 kB on
    # the device before them; four numbers are read every 50 steps, else nothing waits. fix launches the same kernels as a graph.
    Case("warfarin_days", "torch", Fix("launch-bound", "graphs"), useless="pinned", near=0.02),
    # One call of a jitted function between two reads of one number, 20 times a step; a call has a few kernels, over some 150 MB,
    # of some 70 to 200 microseconds together. 12 bytes are read every ten steps in all variants.
    Case("jax_protein_fields", "jax", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.02),
    # One copy of 42 MB a step from pageable memory, which waits, and three kernels behind it, of some one or two milliseconds in
    # all. 2304 bytes are read every 20 steps. fix2 copies the same bytes from pageable memory on another stream, behind the
    # launches.
    Case("numba_flow_cytometer", "numba", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-sync",
         near=0.02),
    # Five or six arrays of 126 MB and some small ones a step from the driver, and as many frees, which wait; some twelve kernels
    # of a millisecond together. 35 kB are read every 36 steps. fix leaves kernels and reads.
    Case("cupy_swap_exposures", "cupy", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # Python reads 7680 lines of text in some 7 to 10 ms a step; then a copy of 393 kB from pageable memory, and some 65 launches
    # of one or two milliseconds (a small vision transformer). fix leaves the copy and the launches; fix2 leaves Python's reading
    # and the copy. Six numbers are read every 25 steps.
    Case("pitch_listings", "torch transformers", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"),
         useless="pinned", near=0.02),
    # Nothing is wrong: one call a step, nearly all of it in one product of matrices in bfloat16, of some 3 to 4 ms together; 12
    # bytes are read every 20 steps.
    Case("jax_cattle_kinship", "jax", useless="no-alloc", otherwise="gpu-bound", near=0.02),
]
CUTLERS = [
    # Some 350 to 400 kernels of two or three microseconds a step (forward, backward, clipping, AdamW of a ViT of six layers, 16
    # photos of 65 tokens), two small copies on the device before them; a number is read every 50 steps, else nothing waits. fix
    # launches the same ones as a graph.
    Case("turtle_faces", "torch transformers", Fix("launch-bound", "graphs"), useless="pinned", near=0.05),
    # One call of a jitted function between two reads of one number, 16 times a step; a call has a few kernels (a picture of
    # 16.8 MB is sampled, 100 MB of slopes are read), of some 100 to 200 microseconds together. 64 bytes are read every ten steps
    # in all variants.
    Case("jax_band_shifts", "jax", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.02),
    # One copy of 31.5 MB a step from pageable memory, which waits, and some 75 kernels behind it, of some three or four
    # milliseconds together (a ResNet in bfloat16). Six numbers are read every 20 steps. fix2 copies the same bytes from pageable
    # memory on another stream, behind the launches; fix3 launches the same kernels as a graph, behind the same copy.
    Case("vial_checks", "torch torchvision", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"),
         Fix("launch-bound", "graphs", "fix3"), useless="no-alloc", near=0.02),
    # Five arrays of 67 MB a step from the driver, and as many frees (Numba does eleven or so at a time), which wait; four kernels
    # of some 0.4 ms together. 16 KB and a sum (cuda.reduce) are read every 25 steps. fix leaves kernels and reads.
    Case("numba_cut_woods", "numba", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # NumPy and torchvision's transforms take some 10 to 25 ms for 16 photos a step (a DataLoader without workers); then two
    # copies of 1.8 MB together from pageable memory, and some 250 launches of some four milliseconds (a ResNet-18, forward,
    # backward, clipping, SGD). Two numbers are read every 25 steps. fix leaves copies and launches; fix2 the loader and copies.
    Case("moth_traps", "torch torchvision", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"), useless="pinned",
         near=0.05),
    # Nothing is wrong: nine kernels a step, of which one product of matrices (550 GFLOP in float32) takes nearly all the time,
    # some 10 to 20 ms; 32 bytes are read every 20 steps.
    Case("leather_marks", "torch", useless="no-sync", otherwise="gpu-bound", near=0.02),
    # Regular expressions and the tokenizer take some 10 to 25 ms for 128 reviews a step; then 49 KB from pageable memory, which
    # does not wait, and some 22 launches of 0.4 ms, of as much on the GPU. Nothing is read. fix leaves the copy and the launches;
    # fix2 leaves the host's work and the copy.
    Case("hotel_reviews", "torch transformers", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"),
         useless="pinned", near=0.02),
    # Some 150 kernels of two to five microseconds a step (forward, backward, clipping, momentum), and no copies; four bytes are
    # read every 50 steps, else nothing waits. fix launches the same ones as a graph.
    Case("pyg_mail_rings", "torch torch_geometric", Fix("launch-bound", "graphs"), useless="no-sync", near=0.05),
    # One copy of 42.5 MB a step from pageable memory, which waits, then some 75 kernels of some two milliseconds in all, in
    # half precision. Nothing is read. fix copies the same bytes from pinned memory; fix2 from pageable memory on another stream,
    # behind the launches; fix3 copies as the base does.
    Case("pallet_pictures", "torch torchvision", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"),
         Fix("launch-bound", "graphs", "fix3"), useless="no-alloc", near=0.02),
    # Eight calls of a jitted function a step, each of some 0.5 to 1 ms on the GPU (about 100 kernels), and a read of four bytes
    # behind each, for which the host waits. fix reads none in the loop.
    Case("jax_bakery_sales", "jax flax optax", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.03),
    # Some ten kernels a step, of some 0.6 ms together, over arrays of some 100 MB; three such arrays and perhaps a small one are
    # taken from the driver, and as many given back, which waits. Some 20 KB are read every 20 steps, in fix as well.
    Case("cupy_song_hooks", "cupy", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # Nothing is wrong: some 450 kernels a step (forward, backward, clipping, AdamW), of some 20 ms together in bfloat16; four
    # bytes are read every 20 steps.
    Case("dialect_calls", "torch transformers", useless="no-sync", otherwise="gpu-bound", near=0.03),
]
HATTERS = [
    # Some 1500 to 1600 kernels of two microseconds a step (30 moments of 52, on 16384 or 49152 numbers each), and three small
    # copies on the device; 768 bytes are read every 50 steps, else nothing waits. fix launches the same kernels as a graph.
    Case("golf_shots", "torch", Fix("launch-bound", "graphs"), useless="pinned", near=0.02),
    # Three kernels of some 0.3 ms together (over 67 MB arrays), 20 times a step, and three kernels besides; 336 bytes are read 41
    # times a step, for which the host waits; 1.3 KB are read every 20 steps in all variants. fix reads none of the 41, and the
    # kernels divide. Numba has no graphs.
    Case("numba_warmed_tumours", "numba", Fix("sync-bound", "no-sync"), useless="pinned", near=0.02),
    # Some 15 kernels of 0.4 to 0.6 ms together; at its end a step gives back two blocks of 52 MB, one of 26 MB and perhaps small
    # ones, which waits, and the next one takes them from the driver again. 8 KB are read every 20 steps in all variants. A graph
    # would take the allocations away as well, thus there is none.
    Case("cupy_stiff_livers", "cupy", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # NumPy takes some 10 to 20 ms a step for 256 curves; then three copies of 1.6 MB together from pageable memory and one call
    # of a jitted function, of one or two milliseconds. Four bytes are read every 25 steps. fix leaves the copies and the call.
    Case("jax_point_machines", "jax optax", Fix("host-bound", "host=0"), useless="no-alloc", near=0.03),
    # Some 60 kernels of two to four milliseconds together (a ResNet-18 in TF32), then 77 MB to new pageable memory, for which the
    # host waits some 10 to 25 ms. fix copies the same bytes to pinned memory; fix2 to pageable memory on another stream, behind
    # the next launches; fix3 copies as the base does, behind a graph.
    Case("solar_cell_cracks", "torch timm", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"),
         Fix("launch-bound", "graphs", "fix3"), useless="no-alloc", near=0.02),
    # Nothing is wrong: some 500 kernels a step (forward, backward, fused AdamW of a transformer of six layers, 24576 tokens), of
    # some 20 to 30 ms together in bfloat16; four bytes are read every 20 steps.
    Case("ski_jumps", "torch", useless="no-sync", otherwise="gpu-bound", near=0.03),
    # Some 555 kernels of two microseconds a step (five moments of 106, on 32768 numbers each), and a copy of 12 bytes on the
    # device before them; 40 bytes are read every 50 steps, else nothing waits. fix launches the same kernels as a graph.
    Case("kiln_crystals", "torch", Fix("launch-bound", "graphs"), useless="pinned", near=0.02),
    # One call of a jitted function between two reads of one number, 18 times a step; a call has a few kernels, over 461 MB, of
    # some 120 to 250 microseconds together. 16 bytes are read every 20 steps in all variants.
    Case("jax_power_auction", "jax", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.02),
    # One copy of 42 MB a step from pageable memory, which waits, and eleven kernels behind it, of some one to two milliseconds in
    # all (most of it in one product of matrices in float32). 20 bytes are read every 20 steps. fix2 copies the same bytes from
    # pageable memory on another stream, behind the launches.
    Case("cupy_milk_spectra", "cupy", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc",
         near=0.02),
    # Three arrays of 67 MB and one of 34 MB a step from the driver, and as many frees (Numba does eleven or so at a time), which
    # wait; five kernels of some 0.4 to 0.7 ms together. 1.5 KB are read every 25 steps. fix leaves kernels and reads.
    Case("numba_army_battles", "numba", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # NumPy takes some 10 to 25 ms for a film a step; then a copy of 393 KB from pageable memory, and some 75 launches of one or
    # two milliseconds (a ResNet-18 of timm in half precision). fix leaves the copy and the launches; fix2 leaves NumPy's work and
    # the copy. Seven numbers are read every 25 steps.
    Case("weld_films", "torch timm", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"), useless="pinned",
         near=0.02),
    # Nothing is wrong: one call a step, nearly all of it in products of matrices in float32 (185 GFLOP), of some 4 to 7 ms
    # together; 12 bytes are read every 20 steps.
    Case("jax_mp2_energies", "jax", useless="no-sync", otherwise="gpu-bound", near=0.02),
    # Some 500 to 700 kernels of two or three microseconds an epoch (ten kinds of ties in two layers, forward and backward,
    # clipping, Adam); no copies; four bytes are read every 50 epochs, else nothing waits. fix launches the same ones as a graph.
    Case("parliament_bills", "torch torch_geometric", Fix("launch-bound", "graphs"), useless="pinned", near=0.05),
    # Some hundred reads of one number a step, in PyTorch's L-BFGS, for which the host waits; eight times the loss and its slopes,
    # each some 45 kernels of 0.7 ms or so together, and some 350 small ones besides. fix reads none of them; fix2 replays a graph
    # for each loss. Twelve bytes are read every 20 steps in all variants.
    Case("exam_abilities", "torch", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="pinned",
         near=0.02),
    # Some 170 to 200 kernels of some two to four milliseconds together (LR-ASPP in half precision), then a copy of 33 MB to
    # pageable memory, which waits. Four bytes are read every 25 steps. fix2 copies the same bytes to pageable memory on another
    # stream, behind the next launches; fix3 launches the same kernels as a graph, before the same copy.
    Case("presenter_mattes", "torch torchvision", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"),
         Fix("launch-bound", "graphs", "fix3"), useless="no-alloc", near=0.02),
    # The tokenizer and Python take some 8 to 20 ms for 48 paragraphs a step (a DataLoader without workers); then two copies of
    # 61 KB from pageable memory, which do not wait, and some 120 launches of 1.5 ms or so (forward, backward, clipping, AdamW).
    # Four bytes are read every 25 steps. fix leaves copies and launches; fix2 the host's work and the copies.
    Case("contract_parties", "torch transformers", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"),
         useless="pinned", near=0.03),
    # Some eight arrays a step from the driver, four of them of 5 or 8 MB, and as many frees, which wait; twelve kernels or so,
    # of a millisecond or two together (two products of a sparse matrix take the most). 192 bytes are read every 25 steps. fix
    # leaves kernels and reads. What takes its memory from the driver cannot be captured.
    Case("cupy_petition_words", "cupy", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.02),
    # Nothing is wrong: one call a step, nearly all of it in products of matrices, of some 4 to 20 ms together (1.1 TFLOP, in
    # TF32 or float32); four bytes are read every 20 steps.
    Case("jax_bill_words", "jax flax optax", useless="no-sync", otherwise="gpu-bound", near=0.02),
    # Some 300 kernels of two to four microseconds a step (forward, backward, clipping, AdamW of a transformer of four layers),
    # two small copies on the device before them, and some five kernels behind them that set the rate (LambdaLR with a tensor),
    # in fix as well; a number is read every 50 steps, else nothing waits. fix launches the same kernels as a graph.
    Case("coffee_roasts", "torch", Fix("launch-bound", "graphs"), useless="no-sync", near=0.05),
    # Twelve frames a step, each of 16 kernels of some 0.3 ms together; two numbers are read in the middle of a frame and one at
    # its end, 36 waits a step. fix reads none in the loop, and has five tiny kernels a frame in place of two that fill. fix2 has
    # two graphs a frame, and reads as the base does.
    Case("garden_timelapse", "torch torchvision", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"),
         useless="no-alloc", near=0.02),
    # One copy of 41 MB a step from pageable memory, which waits, then some 90 kernels of one or two milliseconds together
    # (spectra, and a ResNet in half precision). Nothing is read. fix copies the same bytes from pinned memory; fix2 from pageable
    # memory on another stream, behind the launches; fix3 copies as the base does.
    Case("frog_ponds", "torch timm", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"),
         Fix("launch-bound", "graphs", "fix3"), useless="no-alloc", near=0.02),
    # Four arrays of 67 MB and a few small ones a step from the driver, and as many frees, which wait; eight kernels, four memsets
    # and three tiny copies, of some one to two milliseconds together. 16 KB are read every 24 steps. fix leaves all of these.
    Case("cupy_dune_crests", "cupy", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # Regular expressions, the tokenizer, word_ids and the collator take some 5 to 8 ms for 80 addresses a step; then a copy of 20
    # KB from pageable memory, which does not wait, and some 170 launches of some 3 ms, of less than 1 ms on the GPU. A number is
    # read every 25 steps. fix leaves the copy and the launches; fix2 the host's work and the copy.
    Case("address_parts", "torch transformers", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"),
         useless="no-sync", near=0.05),
    # Nothing is wrong: one call of a jitted function a step, of some 4 to 10 ms on the GPU, most of it in products of matrices;
    # four bytes are read every 20 steps.
    Case("jax_lake_beds", "jax flax optax", useless="no-sync", otherwise="gpu-bound", near=0.03),
]
FARRIERS = [
    # One read of 4 bytes, for which the host waits, 24 times a step; between two reads some four kernels over 25 MB arrays (a
    # maximum, currents, heights) of some 0.1 ms together; 2.5 KB are read every 20 steps in all variants. fix reads none of the
    # 24, and the kernels divide; it has as many launches, of some 60 us each time.
    Case("cupy_storm_surge", "cupy", Fix("sync-bound", "no-sync"), useless="pinned", near=0.01),
    # Fifty calls of a jitted function a step, each of a few kernels of 2 or 3 us on 4096 drones, and one call more; a call takes
    # the host some 30 to 50 us. fix makes the same kernels by one call. Four bytes are read every 25 steps.
    Case("jax_drone_couriers", "jax", Fix("launch-bound", "graphs"), useless="no-alloc", near=0.02),
    # Two arrays of 67 MB and three of 34 MB a step from the driver, and as many frees (Numba does eleven or so at a time), which
    # wait, of one or two milliseconds; three kernels of some 0.4 to 0.6 ms together. 16 KB are read every 25 steps. fix leaves
    # kernels and reads.
    Case("numba_slime_moulds", "numba", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # Two copies of 25 and 17 MB a step from pageable memory, which wait for some 4 to 7 ms, then some 85 kernels of some 2 ms
    # together (two pictures made smaller, a ResNet-18 in half precision). 16 bytes are read every 25 steps. fix copies the same
    # bytes from pinned memory; fix2 from pageable memory on another stream, behind the launches; fix3 copies as the base does.
    Case("bin_pickers", "torch timm torchvision", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"),
         Fix("launch-bound", "graphs", "fix3"), useless="no-alloc", near=0.02),
    # NumPy takes some 4 to 8 ms for 192 spectra a step; then two copies of 1.2 MB and 15 KB from pageable memory, which do not wait
    # for kernels, and some 130 launches of 1.5 ms or so, of less than 1 ms on the GPU (forward, backward, clipping, AdamW). Four
    # bytes are read every 25 steps. fix leaves copies and launches; fix2 NumPy's work and the copies.
    Case("peptide_spectra", "torch", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"), useless="no-sync",
         near=0.03),
    # Nothing is wrong: some 500 kernels a step (forward, backward, AdamW of a U-Net of 31 million weights on eight charts, some 4
    # TFLOP in bfloat16), of some 15 to 30 ms together, and some 5 ms of launches beside them; four bytes are read every 20 steps.
    Case("sea_ice_charts", "torch", useless="graphs", otherwise="gpu-bound", near=0.05),
    # Forty sweeps a step, each of some 14 kernels of 0.12 ms or so together (arrays of 12.6 MB); two numbers are read at its end,
    # 80 waits in a step of some 6 to 7 ms; eight bytes are read every 20 steps. fix launches the same kernels and reads none of the
    # 80; fix2 replays a graph a sweep, and reads as the base does.
    Case("bearing_films", "torch", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.01),
    # Python takes some 6 to 10 ms for 3072 lines a step; then two copies of 62 KB together from pageable memory, which do not wait,
    # and some 130 to 180 launches of 2 ms or so, of some 0.6 ms on the GPU (forward, backward, clipping, AdamW). Four bytes are
    # read every 25 steps. fix leaves the copies and the launches; fix2 the host's work and the copies.
    Case("pressure_falls", "torch", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"), useless="pinned",
         near=0.03),
    # Some 350 to 450 kernels of two to five microseconds a step (four layers of attention over 16384 ties, forward and backward,
    # clipping, Adam), which take the host some 4 to 6 ms; two small copies on the device before them; four bytes are read every 50
    # steps, else nothing waits. fix launches the same kernels as a graph.
    Case("pyg_water_tank", "torch torch_geometric", Fix("launch-bound", "graphs"), useless="no-sync", near=0.05),
    # Twenty arrays of 34 MB and five or so of 4 MB and less a step from the driver, and as many frees, which wait, of some 4 to 8
    # ms together; 30 kernels or so of a millisecond (ten Fourier transforms take the most). 384 bytes are read every 24 steps. fix
    # leaves kernels and reads. What takes its memory from the driver cannot be captured.
    Case("cupy_star_twinkle", "cupy", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # Nothing is wrong: one call of a jitted function a step, nearly all of it in products of matrices in bfloat16 (1.1 TFLOP), of
    # some 3 to 6 ms on the GPU; four bytes are read every 20 steps.
    Case("jax_plate_loads", "jax flax optax", useless="no-alloc", otherwise="gpu-bound", near=0.03),
    # Two copies of 16.8 MB a step from pageable memory, which wait, of some 4 to 5 ms together; then three kernels of one or two
    # milliseconds (67 million reads and adds of voxels). 640 bytes are read every 20 steps. fix copies the same bytes from pinned
    # memory; fix2 from pageable memory on another stream, behind the launches.
    Case("numba_pet_events", "numba", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc",
         near=0.02),
    # Twelve rounds a step, each of a product of a sparse matrix (38 million entries, 0.15 to 0.3 ms) and a vector in cuSPARSE, its
    # memset and two small kernels; four bytes are read after each round, for which the host waits, and CuPy then takes some 0.1 ms
    # until the next product is launched. 64 bytes are read every 20 steps in all variants. fix reads none of the twelve.
    Case("cupy_also_bought", "cupy", Fix("sync-bound", "no-sync"), useless="pinned", near=0.01),
    # The transforms of torchvision take some 15 ms for 32 photos a step (0.45 ms each, a DataLoader without workers); then a copy
    # of 1.2 MB from pageable memory, and some 250 to 300 launches of some 4 to 6 ms (forward, backward and SGD of a ResNet-18), of
    # 2 ms or so on the GPU. A number is read every 20 steps. fix leaves the copy and the launches; fix2 the host's work.
    Case("mushroom_hunters", "torch torchvision", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"),
         useless="pinned", near=0.05),
    # One copy of 18 MB a step from pageable memory, some 30 kernels of some 1.5 to 2.5 ms together (a blur, colours), and 18 MB
    # back to pageable memory, for which the host waits; the copies take some 4 to 6 ms. Nothing is read. fix copies the same bytes
    # from and to pinned memory; fix2 from and to pageable memory on another stream, beside the kernels.
    Case("wedding_photos", "torch torchvision", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"),
         useless="no-alloc", near=0.02),
    # Nothing is wrong: some 900 kernels a step (forward, backward, fused AdamW of a vision transformer of twelve layers, 23904
    # tokens), of some 20 to 30 ms together in bfloat16, launched in some 8 ms; four bytes are read every 20 steps.
    Case("engine_knocks", "torch timm", useless="no-sync", otherwise="gpu-bound", near=0.03),
    # Some 500 kernels of two to four microseconds a step (forward, backward, clipping, AdamW of a GPT-2 of six layers, 512
    # pieces), which take the host some 6 to 8 ms, and a small copy on the device before them; a number is read every 50 steps,
    # else nothing waits. fix launches the same kernels as a graph.
    Case("folk_proverbs", "torch transformers", Fix("launch-bound", "graphs"), useless="no-sync", near=0.05),
    # Python takes some 8 to 12 ms for 512 baskets a step; then two copies of 41 and 33 KB from pageable memory and one call of a
    # jitted function, of one millisecond or less. Four bytes are read every 25 steps. fix leaves the copies and the call.
    Case("jax_basket_offers", "jax flax optax", Fix("host-bound", "host=0"), useless="no-alloc", near=0.03),
    # Some 340 kernels of two to six microseconds a step (cranes, two critics, policy, temperature, three times Adam; 512 rows),
    # of 0.9 ms or so together, and some 3 ms of PyTorch's launches; four bytes are read every 50 steps, else nothing waits. fix
    # launches the same kernels as a graph.
    Case("crane_loads", "torch", Fix("launch-bound", "graphs"), useless="pinned", near=0.05),
    # 29 reads of one number a step, for which the host waits, between them some 18 kernels of 0.12 ms together (five of them over
    # 42 MB), and three times the slopes, of some 0.25 ms: some 4.5 ms in all, 1 ms of it without work for the GPU. 24 bytes are
    # read every 20 steps in all variants. fix reads none of the 29; fix2 replays a graph for each loss.
    Case("shop_choice", "torch", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="pinned", near=0.02),
    # Nothing is wrong: 33 products of matrices in float32 (570 GFLOP) a step, of some 11 to 14 ms together, and some 20 small
    # kernels; 4.4 MB are copied on the device, four bytes are read every 24 steps.
    Case("share_weights", "torch", useless="graphs", otherwise="gpu-bound", near=0.01),
    # One hundred calls of a jitted function a step, 20 to 30 microseconds of the host's each, with one to three kernels of two or
    # three microseconds over 786 KB, and one call besides; 292 bytes are read every 40 steps, else nothing waits. fix makes one
    # call of the hundred; XLA launches their kernels.
    Case("jax_star_streams", "jax", Fix("launch-bound", "graphs"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.02),
    # One copy of 50 MB a step from pageable memory, of some 6 to 8 ms, and some 30 kernels behind it, of some 1.5 to 2.5 ms in all
    # (most of it in two blurs, whose weights are four tiny copies). Four bytes are read every 20 steps. fix copies the same bytes
    # from pinned memory; fix2 from pageable memory on another stream, beside the kernels of the batch before.
    Case("cupy_lucky_planets", "cupy", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc",
         near=0.02),
    # Five arrays of 8 MB, one of 21 MB and two of 2 MB a step from the driver, and as many frees (Numba does eleven or so at a
    # time), which wait; four kernels of some 0.8 ms together. 1.8 KB are read every 25 steps. fix leaves kernels and reads.
    Case("numba_street_game", "numba", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
]
LORIMERS = [
    # Nothing is wrong: some 600 to 700 kernels a step (a batch made even, forward, backward and fused AdamW of a ResNet-50 on 80
    # pictures, some 2 TFLOP in bfloat16), of some 25 to 35 ms together, and some 7 to 9 ms of launches beside them; four bytes are
    # read every 20 steps. fix came after the first look, in which the host took as long as the GPU: the step as a graph.
    Case("sherd_fabrics", "torch timm", Fix("launch-bound", "graphs"), useless="no-alloc", otherwise="gpu-bound", near=0.05),
    # Some 620 kernels of two to three microseconds a step (32 ticks of 19 kernels over 0.5 MB and less), which take the host some
    # 2.5 to 3.5 ms, and a copy of 33 KB on the device before them; 16 bytes are read every 50 steps, else nothing waits. fix
    # launches the same kernels as a graph, of some 1.2 to 1.6 ms.
    Case("toll_plazas", "torch", Fix("launch-bound", "graphs"), useless="pinned", near=0.02),
    # NumPy takes some 8 to 14 ms for 12 clips a step (36 Fourier transforms of 32768 samples); then two copies of 0.8 MB from
    # pageable memory, and some 200 launches of 2 ms or so, of 1 ms or less on the GPU (spectra, forward, backward, clipping,
    # AdamW). Four bytes are read every 25 steps. fix leaves copies and launches; fix2 NumPy's work and the copies.
    Case("noisy_speech", "torch", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"), useless="no-sync",
         near=0.03),
    # One copy of 42 MB a step from pageable memory, of some 4 to 7 ms, and ten kernels or so behind it, of some 1.2 to 2 ms in
    # all (products of complex matrices, 16 GFLOP, take the most). Eight bytes are read every 20 steps. fix copies the same bytes
    # from pinned memory; fix2 from pageable memory on another stream, beside the kernels.
    Case("cupy_tram_noises", "cupy", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc",
         near=0.02),
    # Thirty calls of a jitted function a step, each of some four kernels of 0.1 ms or so together (403 MB are read), and four bytes
    # read after each, for which the host waits and then launches anew, some 60 to 90 us; one call besides. 16 bytes are read every
    # 20 steps in all variants. fix makes the same calls and reads none of the thirty.
    Case("jax_thistle_years", "jax", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.01),
    # Five arrays of 67 MB a step from the driver, and as many frees (Numba does eleven or so at a time), which wait, of one or two
    # milliseconds; seven kernels of some 0.6 to 0.9 ms together. 6.4 KB are read every 25 steps. fix leaves kernels and reads.
    Case("numba_seed_rain", "numba", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # Fourteen sweeps a step, each of eight kernels of some 0.09 ms together (a complex product of 512 by 512 and 512 by 1024, and
    # passes over 4 MB); four bytes are read after each, for which the host waits; then 0.04 ms or so pass until the GPU has work:
    # some 1.9 ms in all. 12 bytes are read every 24 steps. fix launches the same kernels and reads none of the 14; fix2 replays a
    # graph a sweep, and reads as the base does.
    Case("feeder_voltages", "torch", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.01),
    # Python and NumPy take some 10 to 15 ms for 1536 reads a step; then two copies of 498 KB and 512 bytes from pageable memory,
    # which do not wait for kernels, and some 130 launches of 2 ms or so, of less than 1 ms on the GPU (forward, backward, clipping,
    # AdamW). Four bytes are read every 25 steps. fix leaves copies and launches; fix2 the host's work and the copies.
    Case("pileup_calls", "torch", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"), useless="pinned", near=0.03),
    # Some 300 to 350 kernels of two to five microseconds a step (four layers of GINEConv, 2560 faces and 12288 ties, forward and
    # backward, clipping, Adam), which take the host 4 to 5 ms; four small copies on the device before them; four bytes are read
    # every 50 steps, else nothing waits. fix launches the same kernels as a graph.
    Case("pyg_part_faces", "torch torch_geometric", Fix("launch-bound", "graphs"), useless="no-sync", near=0.05),
    # Twenty arrays of 67 MB a step from the driver, and as many frees, which wait, of some 5 to 15 ms together; 28 kernels or so of
    # 1.3 ms together. 64 KB are read every 20 steps. fix leaves kernels and reads. What takes its memory from the driver cannot be
    # captured.
    Case("cupy_catalyst_waves", "cupy", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # Nothing is wrong: one call of a jitted function a step (forward, backward, AdamW of 50 million weights on 18432 letters, some
    # 5.7 TFLOP in bfloat16), of some 12 to 20 ms on the GPU; four bytes are read every 20 steps.
    Case("jax_reaction_words", "jax flax optax", useless="no-alloc", otherwise="gpu-bound", near=0.03),
    # One copy of 16.8 MB a step from pageable memory, which waits, of some 2 to 2.5 ms; then three kernels of some 0.8 to 1.2 ms
    # (67 million genotypes, 24 weights each). 1.6 MB are read every 24 steps. fix copies the same bytes from pinned memory; fix2
    # from pageable memory on another stream, beside the kernels.
    Case("numba_risk_scores", "numba", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc",
         near=0.01),
    # Some 310 kernels of two to four microseconds a step (eight layers of a Llama, one word of 16 drafts), which take the host some
    # 3 to 5 ms, and 1 to 1.3 ms on the GPU. 16.5 KB are read every 127 steps, and the cache is cleared then; else nothing waits.
    # fix launches the same kernels as a graph.
    Case("clause_drafts", "torch transformers", Fix("launch-bound", "graphs"), useless="pinned", near=0.05),
    # Nothing is wrong: some 200 kernels a step (Wav2Vec2 of 95 million weights, 24 pieces of ten seconds, some 3 TFLOP in bfloat16,
    # arrays of 786 MB in its first layers), of some 18 to 30 ms together, launched in some 3 to 5 ms; 7.7 MB are copied on the
    # device, four bytes are read every 20 steps.
    Case("voice_archive", "torch transformers", useless="graphs", otherwise="gpu-bound", near=0.03),
    # 322 reads of one number a step, for which the host waits, each behind one or two kernels of three to five microseconds, of
    # some 8 to 9 ms together; before them some 550 kernels (forward, backward, SGD of a ResNet-50, 96 pictures of 128 by 128 in
    # TF32), of 12 to 16 ms on the GPU and launched in some 7 ms. 1.3 KB are read every 25 steps. fix launches the same kernels and
    # reads none of the 322; fix2 replays a graph for the 550, and reads as the base does.
    Case("roof_shapes", "torch timm", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="pinned",
         near=0.05),
    # One copy of 50 MB a step from pageable memory, which waits, of some 5 to 8 ms, then some 210 kernels of 3 to 5 ms together (an
    # LRASPP in half precision over 96 slices of 256 by 256), launched in some 2 ms. Eight bytes are read every 20 steps. fix copies
    # the same bytes from pinned memory; fix2 from pageable memory on another stream, behind the launches; fix3 as the base does.
    Case("smokers_lungs", "torch torchvision", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"),
         Fix("launch-bound", "graphs", "fix3"), useless="no-alloc", near=0.03),
    # One copy of 151 MB a step from pinned memory, of some 3 ms, for which the host does not wait, and behind it on the same stream
    # some 20 kernels and memsets of 3 to 4 ms together (eight passes of filters over 38 million heights), launched in 1 ms. 74 KB
    # are read every 20 steps. fix copies the same bytes from pinned memory on another stream, beside the kernels.
    Case("cupy_ridge_maps", "cupy", Fix("copy-bound", "overlap"), useless="pinned", near=0.01),
    # NumPy takes some 5 to 8 ms for 224 windows a step (672 times numpy.interp, a transform); then three copies of 1 MB together
    # from pageable memory and one call of a jitted function, of one millisecond or so on the GPU. Four bytes are read every 25
    # steps. fix leaves the copies and the call.
    Case("jax_gait_sensors", "jax flax optax", Fix("host-bound", "host=0"), useless="no-alloc", near=0.05),
    # Some 700 kernels of two microseconds or so a step (eight moves of 1024 games, some 73 each, then forward, backward, clipping
    # and Adam of a small network), which take the host some 3.5 to 4.5 ms; four bytes are read every 40 steps, else nothing waits.
    # fix launches the same kernels as a graph, of some 1.5 ms. Moves are drawn: one that is another one changes those behind it.
    Case("kalah_players", "torch", Fix("launch-bound", "graphs"), useless="no-sync", near=0.05),
    # 64 parts a step, each of seven kernels over arrays of 8 and 25 MB (0.09 ms or so together), one read of four bytes, for which
    # the host waits, and two fills; the GPU rests some 40 to 60 us at each read. 16 bytes are read every 20 steps in all variants.
    # fix reads none of the 64, and four tiny kernels take the place of the fills; fix2 replays two graphs a part, and reads.
    Case("flyby_samples", "torch", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.01),
    # Nothing is wrong: some 900 launches a step (forward, backward, SGD of a fully convolutional ResNet-50 on 32 frames, some 7
    # TFLOP in bfloat16), of some 22 to 32 ms together, launched in some 6 to 8 ms; four bytes are read at the end of each step. fix
    # came after the first look, in which the useless change gained 1.09: the step as a graph, the loss read as before.
    Case("court_masks", "torch torchvision", Fix("launch-bound", "graphs"), useless="no-sync", otherwise="gpu-bound", near=0.05),
    # Thirty calls of a jitted function a step, each of a few kernels over five arrays of 48 MB (0.1 to 0.17 ms together), and a
    # read of 8 bytes behind each, for which the host waits; the GPU rests some 60 to 100 us until the next call. 240 bytes are read
    # every 20 steps in all variants. fix reads none of the thirty, and calls as often.
    Case("jax_life_cover", "jax", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.01),
    # Some 14 arrays of 67 MB and a dozen or so of a megabyte and less a step from the driver, and as many frees, which wait, of
    # some 4 to 7 ms together; some 25 kernels of a millisecond or so. 4 KB are read every 24 steps. fix leaves kernels and reads.
    # What takes its memory from the driver cannot be captured.
    Case("cupy_rock_faults", "cupy", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # One copy of 34 MB a step from pageable memory, which waits, of some 4 to 5 ms; then five kernels of some 0.8 to 1.3 ms
    # together (two means of 49 and 64 pixels take the most). 128 bytes are read every 20 steps. fix copies the same bytes from
    # pinned memory; fix2 from pageable memory on another stream, behind the launches.
    Case("numba_photo_finish", "numba", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc",
         near=0.01),
]

SPURRIERS = [
    # Nothing is wrong: some 250 to 300 launches a step (forward, backward, fused AdamW of a U-Net on six films of 512 by 512,
    # some 5 TFLOP in bfloat16, arrays of 201 MB in its first and last layers), of some 20 to 34 ms together, launched in some 4
    # to 6 ms; NumPy draws six numbers in 0.1 ms or less, and 48 bytes are copied. Four bytes are read every 20 steps.
    Case("bite_wings", "torch", useless="host=0", otherwise="gpu-bound", near=0.05),
    # One copy of 50 MB a step from pageable memory, which waits, of some 5 to 8 ms; then some 30 kernels of some 2 to 3.5 ms
    # together (passes over arrays of 201 MB, two products with 3 by 3), launched in 0.2 ms. 16 bytes are read every 25 steps. fix
    # copies the same bytes from pinned memory, in 1 ms; fix2 from pageable memory on another stream, behind the launches.
    Case("dyed_webs", "torch", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="graphs", near=0.02),
    # Python takes some 7 to 10 ms for 512 addresses a step (a regular expression and 31 hashes each); then two copies of 98
    # and 4 KB from pageable memory, and some 120 launches of 1.3 ms or so, of less than 1 ms on the GPU (forward, backward,
    # clipping, AdamW). Four bytes are read every 25 steps. fix leaves copies and launches; fix2 the host's work and the copies.
    Case("letter_routes", "torch", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"), useless="pinned", near=0.03),
    # 180 calls of small jitted functions a step (nine a generation, of some 25 kernels of two to three microseconds), which take
    # the host some 2.5 to 4 ms; the GPU works for 1.3 ms or so of these. 12 bytes are read every 50 steps, else nothing waits.
    # fix makes one call, a loop over twenty generations, of fewer kernels, since XLA fuses more. All is counted in whole numbers
    # but the notes.
    Case("jax_wheat_crosses", "jax", Fix("launch-bound", "graphs"), useless="no-sync", near=0.02),
    # 24 times a step, a kernel of 60 to 80 us (it reads and writes 60 MB), a maximum of 31200 numbers, of 5 to 10 us, and a read
    # of four bytes, for which the host waits; the GPU rests some 35 to 50 us until it has work again: some 3 ms in all, with ten
    # launches or so of 0.2 to 0.3 ms. 20 bytes are read every 20 steps in all variants. fix launches the same kernels and reads
    # none of the 24.
    Case("cupy_poll_swings", "cupy", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.01),
    # Ten arrays of 67 MB a step from the driver, and as many frees (Numba does eleven or so at a time), which wait, of some 2 to
    # 4 ms together; ten kernels of some 0.6 to 0.9 ms together, launched in 0.4 ms. 64 KB are read every 25 steps. fix leaves
    # kernels and reads. What takes its memory from the driver cannot be captured.
    Case("numba_ash_clouds", "numba", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # One copy of 38 MB a step from pageable memory, which waits, of some 4 to 6 ms, then some 15 kernels of some 2 to 3 ms together
    # (means of 25 and 62 pixels and the largest of 81 at 12.6 million places), launched in 0.1 ms. Four bytes are read every 20
    # steps. fix copies the same bytes from pinned memory; fix2 from pageable memory on another stream, behind the launches.
    Case("mite_boards", "torch", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="graphs", near=0.01),
    # Nine arrays of 131 MB and one of 33 MB a step from the driver, and as many frees, which wait, of some 4 to 8 ms together; some
    # 35 kernels of some 3 to 3.5 ms together, launched in 0.2 ms. 12 bytes are read every 25 steps. fix leaves kernels and reads.
    # What gives its memory back to the driver cannot be captured.
    Case("drying_clay", "torch", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # 24 reads of eight bytes a step inside PyG (the largest number of a graph), for which the host waits, each behind some 15
    # kernels of 0.1 to 0.3 ms together (65536 nodes, 393216 edges, 64 wide), and 40 to 60 us until the GPU has enough work again:
    # some 6 to 7 ms in all, 4.5 to 5 ms of kernels, launched in 3 ms. 4 bytes are read every 25 steps. fix reads none of the 24;
    # fix2 replays a graph for each part between the reads, 31 in all, and reads as the base does.
    Case("pyg_yeast_crosses", "torch torch_geometric", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"),
         useless="pinned", near=0.02),
    # Python takes some 4.5 to 7.5 ms for 192 claims a step (5400 events: sorted, names in small letters, crc32, log1p); then four
    # copies of 150 KB together from pageable memory and one call of a jitted function, of 1 ms or so on the GPU (forward, backward,
    # AdamW of 1.3 million weights). Four bytes are read every 25 steps. fix leaves the copies and the call.
    Case("jax_staged_crashes", "jax flax optax", Fix("host-bound", "host=0"), useless="no-sync", near=0.05),
    # Some 390 kernels of two to three microseconds a step (four ticks of 97, over 25 KB and 393 KB), which take the host some 3 to
    # 6 ms; 393 KB are read every 50 steps, else nothing waits. fix launches the same kernels as a graph, of some 0.9 to 1.2 ms.
    Case("cupy_station_passes", "cupy", Fix("launch-bound", "graphs"), useless="pinned", near=0.01),
    # Nothing is wrong: three kernels a step, one of some 6 to 10 ms (65536 journeys, 5500 legs each, that wait for memory) and two
    # of 0.2 ms or so; 3 KB are read at the end of each step, and 0.1 ms pass or less until the next kernel.
    Case("numba_bus_journeys", "numba", useless="no-sync", otherwise="gpu-bound", near=0.01),
    # Some 2000 kernels of two to four microseconds a step (40 flights of 16 kernels over 49 to 197 KB, some 35 each on the way
    # back, clipping, fused Adam), which take the host some 8 to 12 ms, and 4 to 5 ms on the GPU; three copies of 0.5 MB and less on
    # the device before them. Four bytes are read every 40 steps, else nothing waits. fix launches the same kernels as a graph.
    Case("jet_engines", "torch", Fix("launch-bound", "graphs"), useless="no-alloc", near=0.03),
    # Python takes some 6 to 10 ms for 48 chants a step (35000 letters); then a copy of 98 KB from pageable memory, which waits for
    # little, and some 230 launches of 2 to 3 ms, of some 1 ms on the GPU (forward, backward, clipping, AdamW of a BERT of four
    # layers, in TF32). Four bytes are read every 25 steps. fix leaves copy and launches; fix2 the host's work and the copy.
    Case("chant_modes", "torch transformers", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"), useless="pinned",
         near=0.05),
    # One copy of 21 MB a step from pageable memory, which waits, of some 2.2 to 3.2 ms; then some 56 kernels of 0.5 to 0.7 ms
    # together (passes over 42 MB), launched in some 0.35 ms. 32 bytes are read every 25 steps. fix copies the same bytes from
    # pinned memory; fix2 from pageable memory on another stream, beside the kernels.
    Case("heart_flow", "torch", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc", near=0.01),
    # Seven to nine arrays of 67 MB a step from the driver, and as many frees, which wait, of some 2 to 4 ms together; some 55
    # kernels over 67 MB of some 2.5 ms together, launched in 0.8 ms. 1 KB is read every 24 steps. fix leaves kernels and reads.
    # What takes its memory from the driver cannot be captured.
    Case("cupy_oyster_bay", "cupy", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # 24 sweeps a step, each a kernel of some 0.1 to 0.14 ms (14.7 million voxels, 134 MB) and a read of 1.5 KB, for which the host
    # waits, and then some 60 to 80 us until the next kernel begins: some 4 to 5 ms in all. 0.9 KB are read every 20 steps. fix
    # launches the same kernels and reads the 1.5 KB once a step.
    Case("numba_cement_paste", "numba", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.01),
    # Nothing is wrong: one call of a jitted function a step, a loop of 200 rounds over 4.2 million serves in it, each of some 0.08
    # to 0.12 ms on the GPU (some 18 arrays of 17 MB are read or written), of some 15 to 25 ms together; 12 bytes are read every
    # 20 steps.
    Case("jax_tennis_serves", "jax", useless="no-alloc", otherwise="gpu-bound", near=0.02),
    # Some 670 kernels of two to three microseconds a step (18 stops, forward and backward, over 0.2 MB; Adam), which take the host
    # some 3.5 to 4.5 ms, and 1.5 to 1.9 ms on the GPU; 3.5 MB are copied on the device before them. 12 bytes are read every 40
    # steps, else nothing waits. fix launches the same kernels as a graph.
    Case("late_trains", "torch", Fix("launch-bound", "graphs"), useless="no-sync", near=0.02),
    # Python takes some 6 to 10 ms for 160 clues a step (sets of words that fit, 1920 words spelt, lists made tensors); then three
    # copies of 165 KB together from pageable memory, which PyTorch does not wait for, and some 70 launches of 0.8 ms or so, of 0.4
    # ms on the GPU (forward, backward, clipping, AdamW). Four bytes are read every 25 steps. fix leaves copies and launches; fix2
    # the host's work and the copies.
    Case("crossword_fills", "torch", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"), useless="pinned",
         near=0.05),
    # Nothing is wrong: some 700 kernels a step (forward, backward, fused AdamW of a DistilBERT on 192 notes of 128 words, some 6.5
    # TFLOP in bfloat16), of some 18 to 26 ms together, launched in some 4 to 5 ms; 199 KB are copied from pageable memory before
    # them; eight bytes are read every 20 steps.
    Case("tasting_notes", "torch transformers", useless="pinned", otherwise="gpu-bound", near=0.05),
    # One copy of 33.6 MB a step from pageable memory, which waits, of some 3.5 to 5.5 ms, then some 15 to 20 kernels of 0.7 to 1.1
    # ms together (transforms of 4096 by 4096, real and back to complex, take the most), launched in 0.4 ms. Four bytes are read
    # every 20 steps. fix copies the same bytes from pinned memory; fix2 from pageable memory on another stream, behind the kernels.
    Case("cupy_glacier_beds", "cupy", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc",
         near=0.01),
    # Thirty calls of a jitted function a step, each of a few kernels of 0.1 to 0.16 ms together (opacities of 64 layers by 98304
    # wavelengths, 25 MB, and a product with 64 ways), and four bytes read behind each, for which the host waits; the GPU rests some
    # 60 to 90 us until the next call. 28 bytes are read every 20 steps in all variants. fix makes the same calls and reads none of
    # the thirty.
    Case("jax_planet_spectra", "jax", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.01),
    # Five arrays of 67 MB a step from the driver, and as many frees (Numba does eleven or so at a time), which wait, of some 1 to 2
    # ms; seven kernels of 0.5 to 0.8 ms together (two means of 33 samples, and passes over 67 and 134 MB). 2 KB are read every 25
    # steps. fix leaves kernels and reads.
    Case("numba_mine_trucks", "numba", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
]

BOOKBINDERS = [
    # Nothing is wrong: some 150 launches a step (Sinkhorn's four rounds over 6144 tables of 96 by 96, 226 MB, forward and backward,
    # five products, fused Adam), most of them passes over 226 MB of 0.06 to 0.17 ms, of some 11 to 16 ms together, launched in
    # some 1.5 to 3 ms. 12 bytes are read every 20 steps.
    Case("orchestra_seats", "torch", useless="graphs", otherwise="gpu-bound", near=0.02),
    # Some 1800 kernels of two to three microseconds a step (24 hours of 30 or so forward and 45 backward over 33 KB; Adam), which
    # take the host some 9 to 18 ms, and 3.5 to 4.5 ms on the GPU; 1.6 MB are copied on the device before them. 12 bytes are read
    # every 40 steps, else nothing waits. fix launches the same kernels as a graph.
    Case("canal_locks", "torch", Fix("launch-bound", "graphs"), useless="no-alloc", near=0.02),
    # Five arrays of 151 MB and three of 50 MB a step from the driver, and as many frees, which wait, of some 3 to 6 ms together;
    # some 18 kernels of 0.9 to 1.3 ms together, launched in 0.2 ms. 384 bytes are read every 25 steps. fix leaves kernels and
    # reads. What gives its memory back to the driver cannot be captured.
    Case("banknote_sheets", "torch", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # Python takes some 6.5 to 10 ms for 256 pharmacies a step (5100 lines: words cut, two crc32 and two logarithms each); then four
    # copies of 150 KB together from pageable memory and one call of a jitted function, of 1 ms or less on the GPU (forward,
    # backward, AdamW of 0.6 million weights). Four bytes are read every 25 steps. fix leaves the copies and the call.
    Case("jax_pharmacy_orders", "jax optax", Fix("host-bound", "host=0"), useless="no-sync", near=0.05),
    # 24 times a step, a kernel of 40 to 60 us (it reads and writes 67 MB each) and a read of four bytes, for which the host waits;
    # the GPU rests some 30 to 50 us until it has work again: some 2 to 2.5 ms in all, with 26 launches of 0.2 to 0.3 ms. Four bytes
    # are read every 20 steps in all variants. fix launches the same kernels and reads none of the 24.
    Case("cupy_sand_slopes", "cupy", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.01),
    # One copy of 33.6 MB a step from pageable memory, which waits, of some 3.4 to 5.5 ms; then four kernels of 0.7 to 1.1 ms
    # together (a matched filter of 64 samples and a mean of 17 at 16.8 million places), launched in 0.05 ms. 512 bytes are read
    # every 25 steps. fix copies the same bytes from pinned memory; fix2 from pageable memory on another stream, beside the kernels.
    Case("numba_bat_calls", "numba", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc",
         near=0.01),
    # Nothing is wrong: some 400 to 500 launches a step (forward, backward, fused AdamW of six layers of a ViT-B on 128 sheets of
    # 320 by 224, 281 places each, some 10 TFLOP in bfloat16), of some 22 to 32 ms together, launched in some 4 to 8 ms; NumPy
    # draws 384 numbers in 0.1 ms, and 2 KB are copied from pageable memory, which PyTorch does not wait for. Four bytes are read
    # every 20 steps.
    Case("herbarium_sheets", "torch timm", useless="host=0", otherwise="gpu-bound", near=0.05),
    # Some 900 kernels of two to three microseconds a step (32 strokes, forward and backward, over 20 to 61 KB; Adam), which take
    # the host some 5 to 8 ms, and some 2 to 2.7 ms on the GPU; 0.45 MB are copied on the device before them. Eight bytes are read
    # every 25 steps, else nothing waits. fix launches the same kernels as a graph.
    Case("steno_strokes", "torch", Fix("launch-bound", "graphs"), useless="no-sync", near=0.02),
    # Python takes some 10 to 16 ms for 128 signs a step (5000 curves of four chords, lists made tensors); then two copies of 173
    # KB together from pageable memory, and some 80 launches of 0.8 ms or so, of 0.4 ms on the GPU (forward, backward, AdamW). Four
    # bytes are read every 25 steps. fix leaves copies and launches; fix2 the host's work and the copies.
    Case("sign_lettering", "torch", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"), useless="pinned",
         near=0.03),
    # 24 calls of a jitted function a step, each of a few kernels of 0.1 to 0.2 ms together (some ten arrays of 17 MB are read or
    # written), and four bytes read behind each, for which the host waits; the GPU rests some 60 to 90 us until the next call. Every
    # 20 steps three arrays of 17 MB are copied on the device, and four bytes are read, in all variants. fix makes the same calls
    # and reads none of the 24.
    Case("jax_avalanche_slopes", "jax", Fix("sync-bound", "no-sync"), useless="no-alloc", near=0.02),
    # Seven arrays of 96 to 101 MB and three of 1 to 25 MB a step from the driver, and as many frees, which wait, of some 2.5 to 5
    # ms together; some 25 kernels of 0.9 to 1.5 ms together, launched in 0.4 ms. 40 bytes are read every 25 steps. fix leaves
    # kernels and reads. What gives its memory back to the driver cannot be captured.
    Case("cupy_turbine_blades", "cupy", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # One copy of 33.6 MB a step from pageable memory, which waits, of some 3.5 to 5.5 ms, then three kernels of 1.5 to 2.2 ms
    # together (2.1 billion counts of bits), launched in 0.1 ms; 0.5 MB are taken from the driver each step, and given back every
    # eleven steps. 32 bytes are read every 25 steps. fix copies the same bytes from pinned memory; fix2 from pageable memory on
    # another stream, behind the kernels.
    Case("numba_lottery_tickets", "numba", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc",
         near=0.01),
    # Python takes some 5 to 8 ms for 48 patterns a step (1152 rows: a regular expression, some ten words each); then a copy of
    # 184 KB from pageable memory, which waits for little, and some 120 launches of 1.3 to 2 ms, of some 0.6 to 1 ms on the GPU
    # (forward, backward, clipping, AdamW of six layers). Four bytes are read every 25 steps. fix leaves copy and launches; fix2
    # the host's work and the copy.
    Case("knitting_charts", "torch", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"), useless="pinned",
         near=0.05),
    # 21 reads of eight bytes a step, for which the host waits, each behind some 11 kernels of 0.13 to 0.16 ms together (six passes
    # over 44 MB of stock), launched in 0.07 to 0.1 ms, and some 40 us until the GPU has work again: some 4 ms in all. fix launches
    # the same kernels and reads none of the 21; fix2 replays a graph for each day and reads as the base does.
    Case("blood_stocks", "torch", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.01),
    # Nothing is wrong: some 250 to 300 launches a step (forward, backward, fused Adam of two layers with attention over 983040
    # edges, arrays of 503 MB), of some 17 to 30 ms together, launched in some 3 to 6 ms; four bytes are read in each step, and
    # 0.1 ms pass or less until the next kernel. Scattered sums are added in any order.
    Case("pyg_tram_power", "torch torch_geometric", useless="no-sync", otherwise="gpu-bound", near=0.05),
    # Seven arrays of 67 MB and a few small ones a step from the driver, and as many frees, which wait, of some 2 to 3.5 ms
    # together; some 25 kernels of some 0.9 to 1.3 ms together (a picture laid out by angles, passes over 67 MB), launched in 0.4
    # ms. 40 bytes are read every 25 steps. fix leaves kernels and reads. What takes its memory from the driver cannot be captured.
    Case("cupy_comet_tails", "cupy", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
    # One copy of 33.6 MB a step from pageable memory, which waits, of some 3.5 to 5.5 ms, then five kernels of some 1.2 to 2.2 ms
    # together (sums of 49 of 16.8 million points, twice), launched in 0.1 ms. 256 bytes are read every 25 steps. fix copies the
    # same bytes from pinned memory, in 0.7 ms; fix2 from pageable memory on another stream, behind the launches.
    Case("numba_parcel_picks", "numba", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-sync",
         near=0.01),
    # 180 calls of small jitted functions a step (nine a round, of some 12 kernels of two to three microseconds), which take the
    # host some 2.2 to 3.6 ms; the GPU works for 0.6 ms or so of these. Eight bytes are read every 50 steps, else nothing waits.
    # fix makes one call, of half as many kernels or more, since XLA fuses some. Scattered sums are added in any order.
    Case("jax_coral_spawning", "jax", Fix("launch-bound", "graphs"), useless="no-sync", near=0.02),
    # One copy of 36 MB a step from pageable memory, which waits, of some 3.6 to 6 ms, then some 30 kernels of 1 to 1.6 ms together
    # (a photo of 144 MB as floats, a grid sample and a mean of 81 pixels at 7.7 million places), launched in 0.2 to 0.3 ms. Four
    # bytes are read every 20 steps. fix copies the same bytes from pinned memory, in 0.7 ms; fix2 from pageable memory on another
    # stream, beside the kernels.
    Case("drone_mosaic", "torch", Fix("copy-bound", "pinned"), Fix("copy-bound", "overlap", "fix2"), useless="no-alloc", near=0.02),
    # 32 reads of four bytes a step, for which the host waits, behind eight kernels of 0.13 to 0.17 ms and three of 0.05 to 0.07 ms
    # in turns (1025 by 6144 floats, 25 MB, and products with 64 notes); the GPU rests some 30 to 45 us at each: some 4.5 ms in
    # all, 3.2 to 3.6 ms of kernels, launched in 1.2 to 1.6 ms. fix reads none of the 32; fix2 replays two graphs a round, and
    # reads as the base does.
    Case("choir_parts", "torch", Fix("sync-bound", "no-sync"), Fix("launch-bound", "graphs", "fix2"), useless="no-alloc",
         near=0.01),
    # Python takes some 6 to 10 ms for 256 lots a step (a regular expression, 9000 parts, crc32 of most of them, lists made
    # tensors); then three copies of 73 KB together from pageable memory, which PyTorch does not wait for, and some 60 launches of
    # 0.8 ms or so, of 0.3 to 0.4 ms on the GPU (forward, backward, clipping, AdamW). Four bytes are read every 25 steps. fix
    # leaves copies and launches; fix2 the host's work and the copies.
    Case("stamp_lots", "torch", Fix("host-bound", "host=0"), Fix("launch-bound", "graphs", "fix2"), useless="pinned", near=0.05),
    # Nothing is wrong: one call of a jitted function a step, of some 80 kernels (for each of eight speeds two products of 26 GFLOP,
    # of 196608 rows with 128 by 512, and passes over their 403 MB), of some 4 to 11 ms together, launched in 0.5 ms at most; four
    # bytes are read every 20 steps.
    Case("jax_boat_hulls", "jax", useless="no-sync", otherwise="gpu-bound", near=0.02),
    # Some 365 kernels of two to three microseconds a step (40 ticks of nine, over 256 bytes and 98 KB), which take the host some
    # 3.5 to 6 ms; 2 KB are read every 50 steps, else nothing waits. fix launches the same kernels of the ticks as a graph, of some
    # 0.7 to 1 ms.
    Case("cupy_sugar_pans", "cupy", Fix("launch-bound", "graphs"), useless="pinned", near=0.01),
    # Seven arrays of 67 MB a step from the driver, and as many frees (Numba does eleven or so at a time), which wait, of some 1.4
    # to 3 ms together; seven kernels of some 0.35 to 0.5 ms together (passes over 134 to 268 MB), launched in 0.1 ms. 786 KB are
    # read every 25 steps. fix leaves kernels and reads. What takes its memory from the driver cannot be captured.
    Case("numba_peat_bogs", "numba", Fix("alloc-bound", "no-alloc"), useless="pinned", near=0.01),
]

HALVES = {"first": FIRST, "held": HELD, "fresh": FRESH, "last": LAST, "unseen": UNSEEN, "strangers": STRANGERS, "guests": GUESTS,
          "visitors": VISITORS, "callers": CALLERS, "newcomers": NEWCOMERS, "travellers": TRAVELLERS,
          "wanderers": WANDERERS, "lodgers": LODGERS, "boarders": BOARDERS,
          "passengers": PASSENGERS, "pilgrims": PILGRIMS, "settlers": SETTLERS, "sailors": SAILORS,
          "farmers": FARMERS, "weavers": WEAVERS, "millers": MILLERS,
          "glaziers": GLAZIERS, "drovers": DROVERS,
          "potters": POTTERS, "coopers": COOPERS,
          "thatchers": THATCHERS, "chandlers": CHANDLERS,
          "wheelwrights": WHEELWRIGHTS, "fletchers": FLETCHERS, "saddlers": SADDLERS, "glovers": GLOVERS,
          "tanners": TANNERS, "turners": TURNERS, "masons": MASONS, "smiths": SMITHS, "braziers": BRAZIERS, "cutlers": CUTLERS, "hatters": HATTERS,
          "farriers": FARRIERS, "lorimers": LORIMERS, "spurriers": SPURRIERS,
          "bookbinders": BOOKBINDERS}
# Of all sets: those that part `stable` runs many times.
STABLE = ("gcn_item", "prefetch_needless_wait", "cnn_cuda_batches", "diffusion_host_noise", "empty_cache_steps")
# On the simulated CUDA: programs of the tests (tests/gpu/fake_torch).
SIMULATED = {half: [] for half in HALVES}
SIMULATED["first"] = [Case("fake_launches", "torch", Fix("launch-bound", "graphs"), useless="no-sync")]
SIMULATED["held"] = [Case("fake_waits", "torch", Fix("sync-bound", "no-sync"), useless="graphs")]
WHAT_IFS = ("graphs", "no-sync", "pinned", "overlap", "no-alloc", "host=0", "fused")


def sets(settings):
    return SIMULATED if settings.simulated else HALVES
