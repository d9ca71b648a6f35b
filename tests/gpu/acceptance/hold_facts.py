# SPDX-License-Identifier: Apache-2.0
"""Part `hold_facts`: which calls hold their caller, and what waits for what, measured (tests/gpu/hold_facts.cu).

Nothing here passes or fails, but that the program ends: a fact that is not the one assumed says that the shim's timeline
and the reporter are to be changed.
"""
import os
import re

from acceptance import counts, process

TIMEOUT = 125
INLINE = 65536  # bytes of a pageable copy to the device that travels with the command: shim/core/cuda/copies.h
STAGED = 2 * 2**20  # an asynchronous one beyond this holds


def copies_assumed():
    """Copies, as cuda_copy_holds() has them."""
    assumed = {}
    for size in (4, 4096, INLINE, INLINE + 1, 2**17, 2**18, 2**19, 2**20, 2**20 + 1, 2**21, 2**22, 2**24):
        assumed["hold:copy_async:pageable_to_device:%d:behind_same" % size] = "yes" if size > STAGED else "no"
        assumed["hold:copy_async:device_to_pageable:%d:behind_same" % size] = "yes"
        for way in ("pageable_to_device", "device_to_pageable"):
            assumed["hold:copy:%s:%d:behind_legacy" % (way, size)] = "yes"
    for size in (4, INLINE, 2**20, 2**24):
        for way in ("pinned_to_device", "device_to_pinned"):
            assumed["hold:copy_async:%s:%d:behind_same" % (way, size)] = "no"
            assumed["hold:copy:%s:%d:behind_legacy" % (way, size)] = "yes"
    for size in (INLINE, 2**22):
        for way in ("managed_to_managed", "managed_to_device", "device_to_managed"):
            assumed["hold:copy:%s:%d:behind_legacy" % (way, size)] = "yes"
            assumed["hold:copy_async:%s:%d:behind_same" % (way, size)] = "no"
    for way in ("pageable_to_pageable", "pinned_to_pinned"):
        assumed["hold:copy:%s:%d:behind_legacy" % (way, INLINE)] = "yes"
        assumed["hold:copy_async:%s:%d:behind_same" % (way, INLINE)] = "yes"
    return assumed


# By fact, what the shim's timeline takes for granted. It judges frees by the time that they take: what stands here of them is
# the reporter's rule (report/analysis/replay/replay_divide.c).
ASSUMED = {
    **copies_assumed(),
    "hold:copy:device_to_device:65536:behind_legacy": "no",
    "hold:copy_named:device_to_device:65536:behind_legacy": "no",
    "hold:copy_named:managed_to_managed:65536:behind_legacy": "yes",
    "hold:copy_named:managed_to_device:65536:behind_legacy": "yes",
    "hold:copy_named:device_to_managed:65536:behind_legacy": "yes",
    "hold:set:device:1048576:behind_legacy": "no",
    "hold:set:managed:1048576:behind_blocking": "yes",
    "hold:set:pinned:1048576:behind_blocking": "yes",
    "hold:set_async:managed:1048576:behind_same": "no",
    "hold:set_async:pinned:1048576:behind_same": "no",
    "waits:kernel_on_same:behind_host_function": "yes",
    "waits:kernel_on_other:behind_host_function": "no",
    "waits:kernel_on_blocking:behind_host_function_on_legacy": "yes",
    "hold:host_function:behind_same": "no",
    "hold:stream_sync:same": "yes",
    "hold:stream_sync:legacy:behind_blocking": "yes",
    "hold:stream_sync:legacy:behind_non_blocking": "no",
    "hold:stream_sync:blocking:behind_legacy": "no",
    "hold:stream_sync:waits_for_an_event_only": "yes",
    "hold:event_sync:on_stream_that_waits_for_an_event_only": "yes",
    "hold:malloc:device:4096": "no",
    "hold:malloc:device:67108864": "no",
    "hold:free:device:4096": "yes",
    "hold:free:device:67108864": "yes",
    "hold:free:managed:4096": "yes",
    "hold:free:pinned:4096": "yes",
    "hold:host_unregister": "yes",
    "hold:free_async:behind_same:4096:pool_keeps_nothing": "no",
    "waits:event_on_legacy:behind_blocking": "yes",
    "waits:event_on_legacy:behind_non_blocking": "no",
    "waits:event_on_blocking:behind_legacy": "yes",
    "waits:event_on_non_blocking:behind_legacy": "no",
    "waits:event_on_blocking:behind_other_blocking": "no",
    "waits:kernel_on_blocking:wait_for_event_on_legacy:behind_non_blocking": "yes",
    "waits:kernel_on_blocking:wait_for_passed_event_on_legacy:behind_blocking": "yes",
    "waits:kernel_on_blocking:alloc_on_legacy:behind_blocking": "no",
    "waits:kernel_on_blocking:query_of_legacy:behind_blocking": "no",
    "waits:kernel_on_blocking:behind_legacy": "yes",
    "waits:kernel_on_blocking:event_on_legacy:behind_blocking": "yes",
    "waits:copy_async:device_to_device:65536:behind_all_sms_full": "yes",
    "waits:copy_async:pinned_to_device:4095:behind_all_sms_full": "no",
    "waits:copy_async:pinned_to_device:4096:behind_all_sms_full": "no",
    "waits:copy_async:device_to_pinned:4:behind_all_sms_full": "no",
    "overtakes:in_1MiB:big_in": "no",
    "overtakes:out_1MiB:big_out": "no",
    "overtakes:out_1MiB:big_in": "yes",
    "queue:kernel": "1022",
    "queue:graph_of_1_kernel": "1022",
    "queue:graph_of_20_kernels": "1022",
    "queue:graph_of_200_kernels": "1022",
    "queue:host_function": "none",
    "queue:set_async": "1022",
    "queue:event_record": "none",
    "queue:stream_wait": "none",
}
NEAR = 0.02  # of a queue's length


def facts(text):
    """({header key: value}, [row])"""
    header = dict(re.findall(r"^(device|driver|kernel_driver|runtime|date): (.*)$", text, re.M))
    rows = []
    for name, verdict, rest in re.findall(r"^fact: (\S+) (\S+) ?(.*)$", text, re.M):
        figures = {} if verdict == "error" else {k: float(v) for k, v in re.findall(r"(\w+)=(\S+)", rest)}
        rows.append({"what": name, "verdict": verdict, "figures": figures, "assumed": ASSUMED.get(name), "pass": None,
                     "text": text_of(name, verdict, rest)})
    return header, rows


def is_assumed(verdict, assumed):
    if assumed.isdigit() and verdict.isdigit():
        return abs(int(verdict) - int(assumed)) <= NEAR * int(assumed)
    return verdict == assumed


def differs(row):
    return row["assumed"] is not None and not is_assumed(row["verdict"], row["assumed"])


def text_of(name, verdict, rest):
    assumed = ASSUMED.get(name)
    if verdict == "error":
        return "error: " + rest
    if assumed is None:
        return "%s; %s" % (verdict, rest)
    return "%s, %s; %s" % (verdict, "as assumed" if is_assumed(verdict, assumed) else "assumed: " + assumed, rest)


def run(settings, page):
    folder = counts.fresh_folder(settings, "hold_facts")
    name = "hold_facts-sim" if settings.simulated else "hold_facts"
    argv = [os.path.join(settings.build, "tests", name), "--json", os.path.join(folder, "facts.json")]
    if settings.simulated:  # where a gate lasts its whole time
        argv += ["--repeats", "1"]
    env = settings.environment(**({} if settings.simulated else settings.library_path()))
    outcome = process.run(argv, env, settings.time_left(TIMEOUT), folder, "run")
    header, rows = facts(outcome.stdout)
    page.line()
    page.line("Which calls hold their caller, and what waits for what")
    for row in rows:
        page.line("%s: %s" % (row["what"], row["text"]))
    told = [r for r in rows if r["verdict"] == "error" or differs(r)]
    verdicts = [{k: r[k] for k in ("what", "pass", "text")} for r in told]
    text = "%d facts, %d of %d assumed ones as assumed, %d errors" % (
        len(rows), sum(r["assumed"] is not None and not differs(r) for r in rows),
        sum(r["assumed"] is not None for r in rows), sum(r["verdict"] == "error" for r in rows))
    if outcome.rc or not rows:
        text = outcome.skipped or outcome.trouble() or "no output"
    passed = None if outcome.skipped else outcome.rc == 0 and bool(rows)
    page.line("hold_facts: " + text)
    return {"header": header, "rows": rows, "verdicts": verdicts + [{"what": "hold_facts", "pass": passed, "text": text}]}
