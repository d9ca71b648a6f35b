# SPDX-License-Identifier: Apache-2.0
"""Part `nvml`: does the report say of the GPUs what nvidia-smi says, and what does asking NVML cost?

The reading of NVML is the report's own (`init_ns`, `cost_ns` at the start and at exit); beside it stand the program's
times from start to end, bare and under the shim, in turns. The costs have no limit: they are only reported.
"""
import re
import statistics
import subprocess

from acceptance import counts, process, runs, samples
from acceptance.modes import BARE, MODES

PROGRAM, ARGUMENTS = "vector_add", ("20",)
TURNS, QUICK_TURNS = 7, 2
SMI_TIMEOUT = 60
WATT_MW = 1000.0
# nvidia-smi's field: (key of environment.devices[].exit, its value as nvidia-smi prints it). Only what does not change
# while a program runs.
FIELDS = {
    "clocks.max.sm": ("sm_clock_max_mhz", float),
    "clocks.max.memory": ("memory_clock_max_mhz", float),
    "power.limit": ("power_limit_mw", lambda text: WATT_MW * float(text)),
    "power.default_limit": ("power_limit_default_mw", lambda text: WATT_MW * float(text)),
    "pcie.link.gen.max": ("pcie_generation_max", float),
    "pcie.link.width.max": ("pcie_width_max", float),
    "ecc.errors.uncorrected.volatile.total": ("ecc_uncorrected", float),
    "persistence_mode": ("persistence_mode", lambda text: float(text == "Enabled")),
    "compute_mode": ("compute_mode", lambda text: float(
        ("Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process").index(text))),
    "mig.mode.current": ("mig", lambda text: float(text == "Enabled")),
}
NOT_KNOWN = re.compile(r"\[?(n/a|not supported|unknown error|insufficient permissions|gpu requires reset)\]?$", re.I)


def value_of(field, text):
    """nvidia-smi's text as the report's number; None where it knows none."""
    if NOT_KNOWN.match(text):
        return None
    try:
        return FIELDS[field][1](text)
    except ValueError:
        return None


def read_last(device):
    """The reading at exit, else the one at the start."""
    return device["exit"] or device["start"] or {}


def device_differences(device, told):
    """What a device of the report says otherwise than nvidia-smi; what one of them does not know is no difference."""
    found = []
    for field in FIELDS:
        ours, theirs = read_last(device).get(FIELDS[field][0]), value_of(field, told.get(field, "N/A"))
        if ours is not None and theirs is not None and abs(ours - theirs) > 0.5:
            found.append("%s: report %g, nvidia-smi %g" % (field, ours, theirs))
    return found


def compared(device, told):
    """How many fields both know."""
    return sum(read_last(device).get(key) is not None and value_of(field, told.get(field, "N/A")) is not None
               for field, (key, _) in FIELDS.items())


def query(fields):
    """One line of values a GPU, or None where nvidia-smi does not know one of the fields."""
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=" + ",".join(fields), "--format=csv,noheader,nounits"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=SMI_TIMEOUT, check=False,
                              text=True)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines() if line.strip()]
    good = done.returncode == 0 and lines and all(len(line) == len(fields) for line in lines)
    return lines if good else None


def smi():
    """{uuid: {field: text}}; a field that this nvidia-smi lacks is left out. None: there is no nvidia-smi."""
    lines = query(["uuid", "driver_version"])
    if lines is None:
        return None
    told = {uuid: {"driver_version": version} for uuid, version in lines}
    together = query(["uuid", *FIELDS])
    for group in [list(FIELDS)] if together else [[field] for field in FIELDS]:
        for uuid, *values in (together or query(["uuid", *group]) or []):
            told.setdefault(uuid, {}).update(zip(group, values))
    return told


def compare(environment, told):
    """(differences, fields compared) of the report's devices beside nvidia-smi's."""
    if not environment["known"]:
        return ["the report knows nothing: %s" % environment["reason"]], 0
    differences, fields = [], 0
    for device in environment["devices"]:
        theirs = told.get(device["uuid"])
        if theirs is None:
            differences.append("nvidia-smi has no %s" % device["uuid"])
            continue
        fields += 1 + compared(device, theirs)
        differences += device_differences(device, theirs)
        if theirs.get("driver_version") != environment["kernel_driver_version"]:
            differences.append("driver: report %s, nvidia-smi %s" % (
                environment["kernel_driver_version"], theirs.get("driver_version")))
    if not environment["devices"]:
        differences.append("the report has no device")
    return differences, fields


def costs_of(report):
    """{init_ns, start_ns, exit_ns} of a run; of several devices the sum."""
    environment = report.data["environment"]
    return {"init_ns": environment["init_ns"],
            "start_ns": sum((d["start"] or {}).get("cost_ns") or 0 for d in environment["devices"]),
            "exit_ns": sum((d["exit"] or {}).get("cost_ns") or 0 for d in environment["devices"])}


def turns(settings, program):
    """(bare seconds, seconds under the shim, reports, trouble); each turn runs both."""
    bare, seen, reports = [], [], []
    for number in range(QUICK_TURNS if settings.quick else TURNS):
        if settings.out_of_time():
            return bare, seen, reports, "the time limit was reached"
        folder = counts.fresh_folder(settings, program.name, "nvml-bare")
        outcome = process.run(program.argv, {**BARE.environment(settings, folder), **program.env},
                              settings.time_left(program.timeout), folder, "run")
        if outcome.skipped or outcome.trouble():
            return bare, seen, reports, outcome.skipped or outcome.trouble()
        report, watched, trouble = runs.run_mode(settings, program, MODES["off"], "nvml-%d" % number)
        if trouble:
            return bare, seen, reports, trouble
        bare.append(outcome.seconds)
        seen.append(watched.seconds)
        reports.append(report)
    return bare, seen, reports, None


def costs_row(bare, seen, reports):
    """What NVML cost, beside the program's own time."""
    each = [costs_of(r) for r in reports]
    known = [e for e in each if e["init_ns"] is not None]
    row = {"what": "cost of NVML", "pass": None, "bare_s": bare, "seen_s": seen, "each": each}
    middle = {key: statistics.median(e[key] for e in known) if known else None for key in each[0]}
    row.update(middle)
    row["text"] = "start-up %s ms, reading %s ms at the start and %s at exit; program %.0f ms bare, %.0f watched" % (
        *("-" if v is None else "%.2f" % (v / 1e6) for v in middle.values()), 1000 * statistics.median(bare),
        1000 * statistics.median(seen))
    return row


def agreement_row(environment, told):
    row = {"what": "environment as nvidia-smi has it", "pass": None, "environment": environment, "nvidia_smi": told}
    if told is None:
        return {**row, "text": "no nvidia-smi here"}
    differences, fields = compare(environment, told)
    row["pass"] = not differences and fields > 0
    row["text"] = "; ".join(differences) or "%d fields agree" % fields
    return row


def run(settings, page):
    program = samples.program(settings, PROGRAM, *ARGUMENTS)
    bare, seen, reports, trouble = turns(settings, program)
    rows = []
    if reports:
        rows.append(costs_row(bare, seen, reports))
        rows.append(agreement_row(reports[-1].data["environment"], None if settings.simulated else smi()))
    if trouble:
        rows.append({"what": "runs of %s" % program.name, "pass": False, "text": trouble})
    page.table("NVML: what it says and what it costs", rows)
    return {"program": program.name, "rows": rows,
            "verdicts": [{"what": "nvml, " + r["what"], "pass": r["pass"], "text": r["text"]} for r in rows]}
