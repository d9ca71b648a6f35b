# SPDX-License-Identifier: Apache-2.0
"""The parts of scripts/gpu_acceptance.

settings  what was asked for, and what this machine has
programs  the programs that are run, and what they need
modes     the ways to run one: bare, under the shim, under another tool, under both
process   runs one program, with a time-out, and reads what it printed
truth     what really happened: CUPTI's JSON, or the simulated driver's, in one form
shim      what the shim recorded: `cudaspy report --format json`
compare   the differences between those two, and with what a sample says of itself
work      classes of GPU work, named alike for the shim and for CUPTI
runs      each program once under CUPTI alone, once sampled, once in cupti mode
resident  a process that runs its loop whenever it is its turn
samples   the samples that say which verdict and findings a report must have
fixes_table
          the programs with their fix, in sets that are judged apart
gating    `cudaspy check` of two sides of recordings: what it is asked, and what may fail
nsys      what nsys recorded
counts, probe, captures, launch_cost, accuracy, timeline, beside, overhead, verdicts, truncated, whatif, ddp, fixes, gate,
nvml      the parts of the acceptance
page      what is printed
"""
