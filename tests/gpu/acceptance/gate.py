# SPDX-License-Identifier: Apache-2.0
"""Part `gate`: how often `cudaspy check` is wrong: false alarms of equal runs, and a rise that it misses.

Equal runs: of each program so many recordings are made one after the other, sampled, as a user's would be. A pair is
two sides of five different ones of them, drawn by chance: pairs share recordings, which the result says. No count may
fail, in total or per step, and at most 1 % of the pairs may fail `launch_p50_ns <= +5%`.

Rise: recordings in turns with launches as they are and with launches that take 25 % longer (tests/gpu/slow_launch.c,
which is preloaded on both sides and waits 0 ns on the first). A try is five drawn of each; 95 % must be found. Beside
it stands what the best test there is would find at the scatter of these recordings.
"""
import concurrent.futures
import glob
import os
import random
import statistics

from acceptance import counts, gating, programs, runs, samples
from acceptance.modes import MODES

RECORDINGS, RISE_RECORDINGS = 20, 12  # of a program, and of each side
RISE = 1.25
MADE_LEAST = 0.5  # of the rise must be there, or it was not made
FIRSTS = 3  # recordings whose median tells what 25 % are
SEED = 5
AT_A_TIME = 10  # programs that load at the same time


def chosen(settings):
    """(programs of the equal runs, programs of the rise)."""
    if settings.simulated:
        equal = [samples.program(settings, name, "200") for name in ("sync_every_step", "alloc_every_step")]
        rise = [samples.program(settings, "many_tiny_launches", "2000")]
    else:
        equal = [p for p in programs.gpu_programs(settings) if p.name in ("torch_mlp/1", "torch_conv_training")]
        rise = [p for p in programs.gpu_programs(settings) if p.name in ("launch_loop/static", "torch_mlp/1")]
    return equal, rise


def argv_of(settings, program):
    """Of the launch loop its short form: 20,000 launches tell their median."""
    return program.quick_argv if program.name.startswith("launch_loop") else program.argv


def recorded(run):
    """(file, trouble) of a run under the shim: its one recording."""
    outcome = run.finish()
    files = glob.glob(os.path.join(run.folder, "*.cudaspy"))
    trouble = outcome.skipped or outcome.trouble() or (
        None if len(files) == 1 else "%d recordings" % len(files))
    return (None if trouble else files[0]), trouble


def record(settings, program, plan):
    """Runs a program once for each (name, variables) of the plan, one after the other: ({name: files}, trouble)."""
    files = {name: [] for name, _ in plan}
    for start in range(0, len(plan), AT_A_TIME):
        made = [(name, runs.Run(settings, program, MODES["sample"], "gate-%s-%d" % (name, start + i), env,
                                argv_of(settings, program)))
                for i, (name, env) in enumerate(plan[start:start + AT_A_TIME])]
        try:
            if program.gated and not settings.out_of_time():
                for _, run in made:
                    run.hold()
                for _, run in made:
                    run.at_gate()
            for name, run in made:
                if settings.out_of_time():
                    return files, "the time limit was reached"
                file, trouble = recorded(run)
                if trouble:
                    return files, trouble
                files[name].append(file)
        finally:
            for _, run in made:
                run.close()
    return files, None


def judged(settings, folder, draws, rules):
    """Outcomes of (base, new) draws, several at a time: no GPU is needed any more."""
    def one(item):
        number, (base, new) = item
        return gating.judge(settings.reporter, os.path.join(folder, "%d.json" % number), base, rules, new)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(one, enumerate(draws)))


def equal_pairs(files, pairs, chance):
    """Two sides of different recordings each."""
    drawn = [chance.sample(files, 2 * gating.SIDE) for _ in range(pairs)]
    return [(both[:gating.SIDE], both[gating.SIDE:]) for both in drawn]


def equal_row(settings, program):
    wanted = 2 * gating.SIDE if settings.quick else RECORDINGS
    row = {"what": "equal runs, %s" % program.name, "recordings": 0, "pairs": 0, "pass": False, "text": ""}
    missing = program.missing()
    if missing:
        return {**row, "pass": None, "text": missing}
    files, trouble = record(settings, program, [("equal", {})] * wanted)
    row["recordings"] = len(files["equal"])
    if trouble:
        return {**row, "text": trouble}
    folder = counts.fresh_folder(settings, program.name, "gate-equal")
    rules = gating.count_rules()
    found = judged(settings, folder, equal_pairs(files["equal"], settings.gate_pairs, random.Random(SEED)),
                   rules + [gating.TIME_RULE])
    return judge_equal({**row, "pairs_share_recordings": True}, found, rules)


def judge_equal(row, found, rules):
    row.update(gating.tally(found, rules))
    row["pass"] = bool(found) and row["count_failures"] == 0 and \
        gating.few_false_alarms(row["time_failures"], row["pairs"]) and not row["time_unanswered"]
    row["text"] = "%d pairs of %d recordings: counts fail in %d%s, launch_p50_ns in %d, unanswered %d" % (
        row["pairs"], row["recordings"], row["count_failures"],
        " (%s)" % ", ".join(row["failed_rules"]) if row["failed_rules"] else "", row["time_failures"],
        row["time_unanswered"])
    return row


def p50_of(settings, file):
    """The median of a recording's launches, in ns, as check knows it."""
    baseline = gating.save_baseline(settings.reporter, file + ".json", [file])
    os.unlink(file + ".json")
    return baseline["times"]["launch_p50_ns"]


def slow_program(settings, program):
    """The program with the slow launches behind the shim."""
    library = os.path.join(settings.build, "tests", "libslow_launch.so")
    return programs.Program(program.name, argv_of(settings, program), program.needs, timeout=program.timeout,
                            env={**program.env, "LD_PRELOAD": settings.shim + ":" + library}, gated=program.gated)


def rise_row(settings, program):
    wanted = gating.SIDE if settings.quick else RISE_RECORDINGS
    row = {"what": "rise, %s" % program.name, "tries": 0, "found": 0, "pass": False, "text": ""}
    missing = program.missing()
    if missing:
        return {**row, "pass": None, "text": missing}
    slow = slow_program(settings, program)
    first, trouble = record(settings, slow, [("first", {"SLOW_LAUNCH_NS": "0"})] * FIRSTS)
    if trouble:
        return {**row, "text": trouble}
    row["wait_ns"] = round((RISE - 1) * statistics.median(p50_of(settings, f) for f in first["first"]))
    plan = []
    for number in range(wanted):
        pair = [("before", {"SLOW_LAUNCH_NS": "0"}), ("after", {"SLOW_LAUNCH_NS": str(row["wait_ns"])})]
        plan += pair if number % 2 == 0 else pair[::-1]
    files, trouble = record(settings, slow, plan)
    if trouble:
        return {**row, "text": trouble}
    for side in ("before", "after"):
        row[side + "_p50_ns"] = [p50_of(settings, f) for f in files[side]]
    chance = random.Random(SEED)
    draws = [(chance.sample(files["before"], gating.SIDE), chance.sample(files["after"], gating.SIDE))
             for _ in range(settings.gate_pairs)]
    folder = counts.fresh_folder(settings, program.name, "gate-rise")
    found = judged(settings, folder, draws, [gating.TIME_RULE])
    return judge_rise({**row, "pairs_share_recordings": True}, found)


def judge_rise(row, found):
    row["tries"], row["found"] = len(found), sum(f[gating.TIME_RULE] == "fail" for f in found)
    row["rise"] = statistics.median(row["after_p50_ns"]) / statistics.median(row["before_p50_ns"])
    made = row["rise"] - 1 >= MADE_LEAST * (RISE - 1)
    row["scatter"] = gating.scatter(row["before_p50_ns"], row["after_p50_ns"])
    row["best_found"] = gating.best_found(row["rise"], row["scatter"])
    row["pass"] = bool(found) and made and gating.enough_found(row["found"], row["tries"])
    row["text"] = ("%d of %d tries find launches of %.0f instead of %.0f ns (%+.1f %%)%s; recordings scatter by %.1f %%, "
                   "where the best test finds %.0f %%" % (
                       row["found"], row["tries"], statistics.median(row["after_p50_ns"]),
                       statistics.median(row["before_p50_ns"]), 100 * (row["rise"] - 1),
                       "" if made else ": the rise was not made", 100 * row["scatter"], 100 * row["best_found"]))
    return row


def row_of(settings, make, program):
    try:
        if settings.out_of_time():
            return {"what": program.name, "pass": False, "text": "not run: the time limit was reached"}
        return make(settings, program)
    except gating.CheckFailed as e:
        return {"what": program.name, "pass": False, "text": str(e)}


def run(settings, page):
    equal, rise = chosen(settings)
    rows = [row_of(settings, equal_row, p) for p in equal] + [row_of(settings, rise_row, p) for p in rise]
    page.table("How often cudaspy check is wrong", rows)
    return {"side": gating.SIDE, "rows": rows,
            "verdicts": [{"what": "gate, " + r["what"], "pass": r["pass"], "text": r["text"]} for r in rows]}
