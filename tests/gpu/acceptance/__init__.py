"""The parts of scripts/gpu_acceptance.

settings  what was asked for, and what this machine has
programs  the programs that are run, and what they need
modes     the ways to run one: bare, under the shim, (more to come: under another tool)
process   runs one program, with a time-out, and reads what it printed
truth     what really happened: CUPTI's JSON, or the simulated driver's, in one form
shim      what the shim recorded: `cudaspy report --format json`
compare   the differences between those two, and with what a sample says of itself
counts, overhead, probe   the three parts of the acceptance
page      what is printed
"""
