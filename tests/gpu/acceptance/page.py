# SPDX-License-Identifier: Apache-2.0
"""What is printed while the acceptance runs, at most 80 columns wide."""
import sys
import textwrap
import threading

WIDTH = 80


def seen(ours, truth):
    """Two figures in one cell: one where they are equal, else ours/theirs."""
    if ours == truth:
        return "-" if ours is None else str(ours)
    return "%s/%s" % ("-" if ours is None else ours, "-" if truth is None else truth)


WORDS = {True: "PASS", False: "FAIL", None: ""}
SPREAD = {"truth": "CUPTI itself", "sample": "sampled", "cupti": "cupti mode"}


def number(value, scale, form):
    return "-" if value is None else form % (value * scale)


def total(parts, key):
    return sum(p[key] or 0 for p in parts) if parts else None


class Page:
    """Rows come from several threads; a row and its notes stay together."""

    def __init__(self, out=sys.stdout):
        self.out = out
        self.lock = threading.Lock()

    def line(self, text=""):
        with self.lock:
            self.write(text)

    def write(self, text):
        print(text, file=self.out, flush=True)

    def note(self, text):
        text = str(text)
        room = WIDTH - 4
        self.write("    " + (text if len(text) <= room else text[:room - 3] + "..."))

    def counts_head(self, yardstick):
        self.line()
        self.line("Counts under the shim (one figure: equal to %s; else shim/%s)"
                  % (yardstick, yardstick))
        self.line("%-25s %12s %10s %8s %7s %-7s %s"
                  % ("program", "launches", "copies", "sets", "graphs", "result", ""))

    def counts_row(self, row):
        ours = [r["totals"] for r in row.get("ours", [])]
        truth = row.get("truth", [])
        cells = [seen(total(ours, key), total(truth, key))
                 for key in ("launches", "copies", "sets", "graph_launches")]
        result = {True: "same", False: "CHANGED", None: "-"}[row.get("same_result")]
        with self.lock:
            if row["verdict"] == "SKIP":
                self.write("%-25s %-40s       SKIP" % (row["program"], ""))
            else:
                self.write("%-25s %12s %10s %8s %7s %-7s %s"
                           % (row["program"], *cells, result, row["verdict"]))
            if row["note"]:
                self.note(row["note"])
            for d in row["differences"]:
                self.note("%s: shim %s, truth %s" % (d["what"], d["ours"], d["truth"]))
                if d["known"]:
                    self.note("  known: " + d["known"])
            for title, figures in (row.get("diagnosis") or {}).items():
                for name, count in sorted(figures.items()):
                    self.note("%s: %s %d" % (title.replace("_", " "), name, count))

    def overhead_head(self):
        self.line()
        self.line("Slowdown of the steady loop, per cent, interleaved pairs with the bare program")
        self.line("%-24s %-8s %5s %10s %8s %15s %s"
                  % ("program", "mode", "pairs", "bare ms", "median", "quartiles", ""))

    def overhead_row(self, row):
        with self.lock:
            if "pairs" not in row:
                self.write("%-24s %-8s %s" % (row["program"], row["mode"],
                                               "FAIL" if row["pass"] is False else "SKIP"))
                self.note(row["note"])
                return
            low, high = row["slowdown_quartiles_percent"]
            word = {True: "PASS", False: "FAIL", None: ""}[row["pass"]]
            if row["note"]:
                self.note(row["note"])
            self.write("%-24s %-8s %5d %10.2f %+8.2f %+7.2f %+7.2f %s"
                       % (row["program"], row["mode"], row["pairs"], 1000 * row["bare_median_s"],
                          row["slowdown_median_percent"], low, high, word))

    def skipped(self, row):
        """Prints a row that has no figures; True when it has none."""
        if row["pass"] is not None or not row["note"]:
            return False
        self.write("%-24s SKIP" % row["program"])
        self.note(row["note"])
        return True

    def accuracy_head(self):
        self.line()
        self.line("GPU time of the whole program: CUPTI alone, sampled, cupti mode; off by %")
        self.line("%-20s %9s %9s %7s %8s %7s %9s %s"
                  % ("program", "CUPTI ms", "sampled", "%", "ns/piece", "cupti %", "intervals", ""))

    def accuracy_row(self, row):
        with self.lock:
            if self.skipped(row):
                return
            sample, cupti = row.get("sample") or {}, row.get("cupti") or {}
            held = [h for c in row.get("classes", []) for h in c["interval_holds_runs"]]
            self.write("%-20s %9s %9s %7s %8s %7s %9s %s" % (
                row["program"][:20], number(sample.get("truth_ns"), 1e-6, "%.2f"),
                number(sample.get("ours_ns"), 1e-6, "%.2f"), number(sample.get("percent"), 1, "%+.2f"),
                number(sample.get("per_piece_ns"), 1, "%+.0f"),
                number(cupti.get("percent"), 1, "%+.2f"), "%d/%d" % (sum(held), len(held)),
                WORDS[row["pass"]]))
            if row.get("rounds", 1) > 1 and row.get("spread_percent"):
                self.notes("%d runs, off by: %s" % (row["rounds"], ", ".join(
                    "%s %s" % (SPREAD[name], "not known" if not pair else "%+.2f .. %+.2f %%" % tuple(pair))
                    for name, pair in row["spread_percent"].items())))
            if row["note"]:
                self.note(row["note"])

    def timeline_head(self):
        self.line()
        self.line("Shares of the GPU's window, per cent: estimated from samples / cupti mode")
        self.line("below it: sampled with CUPTI in the process / cupti mode")
        self.line("and: sampled with CUPTI in the process / CUPTI's records of the same run")
        self.line("%-20s %13s %13s %13s %10s %s" % ("program", "busy", "idle, launch", "idle, outside",
                                                    "largest d.", ""))

    def timeline_line(self, title, pairs, judged):
        """One comparison: pairs of shares, and the largest difference of all."""
        cells = ["%s/%s" % tuple(number(x, 1, "%.1f") for x in pair) for pair in pairs]
        self.write("%-20s %13s %13s %13s %10s %s" % (
            title[:20], *cells, *[""] * (3 - len(cells)), number(judged.get("difference_points"), 1, "%.1f"),
            WORDS[judged["pass"]]))

    def timeline_row(self, row):
        with self.lock:
            if self.skipped(row):
                return
            sample, beside, cupti = ((row.get(name) or {}) for name in ("sample", "beside", "cupti"))
            shown = ("busy", "idle, launch", "idle, outside")
            self.timeline_line(row["program"], [(sample.get(n), cupti.get(n)) for n in shown], row)
            if row.get("under_cupti"):
                self.timeline_line("  beside CUPTI", [(beside.get(n), cupti.get(n)) for n in shown],
                                   row["under_cupti"])
            if row.get("same_run"):
                self.timeline_line("  in the same run", [(beside.get("busy"), row["busy_truth"])], row["same_run"])
            if row["note"]:
                self.note(row["note"])
            for what, judged in (("", row), (" beside CUPTI", row.get("under_cupti") or {})):
                if judged.get("pass") is False and judged.get("largest"):
                    self.note("largest%s: %s" % (what, judged["largest"]))
            if row.get("told"):
                self.note("%s: %s %% of the time in launches and waits" % (
                    row["told"]["what"], number(row["told"]["share"], 100, "%.0f")))

    def table(self, title, rows):
        """Rows of {what, text, pass}."""
        self.line()
        self.line(title)
        with self.lock:
            for row in rows:
                self.write("%-60s %s" % (row["what"][:60], WORDS[row["pass"]]))
                self.notes(row["text"])

    def notes(self, text):
        """A note of several lines."""
        for line in textwrap.wrap(str(text), WIDTH - 4):
            self.write("    " + line)

    def verdicts_head(self, repeats):
        self.line()
        self.line("Verdicts of the samples: class announced, classes found in %d run%s" % (
            repeats, "" if repeats == 1 else "s"))
        self.line("%-32s %-7s %-13s %-18s %s" % ("program", "mode", "announced", "found", ""))

    def verdicts_row(self, row):
        with self.lock:
            found = ", ".join("%s%s" % (name, " x%d" % n if n > 1 else "")
                              for name, n in row["classes"].items())
            self.write("%-32s %-7s %-13s %-18s %s" % (
                row["program"][:32], row["mode"], row["announced"]["class"] or "(open)", found[:18],
                WORDS[row["pass"]]))
            for problem in row["problems"]:
                self.notes(problem)

    def fixes_head(self, repeats):
        self.line()
        self.line("Programs with their fix: class by the gains measured, classes said in %d run%s" % (
            repeats, "" if repeats == 1 else "s"))
        self.line("%-24s %-6s %-22s %-20s %s" % ("program", "half", "class", "said", ""))

    def fixes_row(self, row, notes):
        with self.lock:
            if self.skipped(row):
                return
            found = ", ".join("%s%s" % (name, " x%d" % n if n > 1 else "") for name, n in row.get("classes", {}).items())
            self.write("%-24s %-6s %-22s %-20s %s" % (
                row["program"][:24], row["half"], " or ".join(row["expected"] or ["(open)"])[:22], found[:20] or "-",
                WORDS[row["pass"]]))
            for text in notes:
                self.notes(text)

    def stable_head(self, count):
        self.line()
        self.line("Programs with their fix, %d runs of each: classes said" % count)
        self.line("%-24s %-7s %-40s %s" % ("program", "mode", "said", ""))

    def stable_row(self, row, said, notes):
        with self.lock:
            if self.skipped(row):
                return
            self.write("%-24s %-7s %-40s %s" % (row["program"][:24], row["mode"], said[:40], WORDS[row["pass"]]))
            for text in notes:
                self.notes(text)

    def lines_head(self, mode):
        self.line()
        self.line("Programs with a marked cause, in mode %s: the line that the report names" % mode)
        self.line("%-24s %-6s %-18s %s" % ("program", "set", "class", "line"))

    def lines_row(self, row, notes):
        with self.lock:
            if self.skipped({**row, "pass": None}):
                return
            self.write("%-24s %-6s %-18s %s" % (row["program"][:24], row["half"], row.get("class") or "-", row["said"] or "-"))
            for text in notes:
                self.notes(text)

    def probe(self, figures, exceptions):
        self.line()
        self.line("Pointers of cuGetProcAddress against the exports of the driver")
        self.line("  ".join("%s %s" % kv for kv in figures.items() if kv[0] != "headers"))
        with self.lock:
            for text in exceptions[:20]:
                self.note(text)
            if len(exceptions) > 20:
                self.note("... and %d more" % (len(exceptions) - 20))

    def verdicts(self, found):
        self.line()
        for v in found:
            word = {True: "PASS", False: "FAIL", None: "note"}[v["pass"]]
            text = "%s %s: %s" % (word, v["what"], v["text"])
            while len(text) > WIDTH:
                cut = text.rfind(" ", 5, WIDTH)
                if cut <= 5:
                    break
                self.line(text[:cut])
                text = "     " + text[cut + 1:]
            self.line(text)
