"""What is printed while the acceptance runs, at most 80 columns wide."""
import sys
import threading

WIDTH = 80


def seen(ours, truth):
    """Two figures in one cell: one where they are equal, else ours/theirs."""
    if ours == truth:
        return "-" if ours is None else str(ours)
    return "%s/%s" % ("-" if ours is None else ours, "-" if truth is None else truth)


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
