"""Runs one program with a time-out, and reads what it printed."""
import os
import re
import signal
import subprocess
import time

SKIP = 77
TAIL = 1500


class Outcome:
    """What became of one run."""

    def __init__(self, argv, rc, timed_out, seconds, stdout, stderr):
        self.argv = argv
        self.rc = rc
        self.timed_out = timed_out
        self.seconds = seconds
        self.stdout = stdout
        self.stderr = stderr

    @property
    def skipped(self):
        if self.rc != SKIP:
            return None
        found = re.search(r"^skip: (.*)$", self.stdout, re.M)
        return found.group(1) if found else "exit status 77"

    @property
    def crashed(self):
        """In words, or None. Python and shells turn a child's signal into 128 + number."""
        if self.timed_out:
            return "timed out"
        number = -self.rc if self.rc < 0 else self.rc - 128 if 128 < self.rc < 160 else 0
        if not number:
            return None
        try:
            return signal.Signals(number).name
        except ValueError:
            return "signal %d" % number

    @property
    def results(self):
        return re.findall(r"^result: *(.*)$", self.stdout, re.M)

    @property
    def times(self):
        """Seconds of the steady loop, as the program measured them."""
        return [float(t) for t in re.findall(r"^time_s: *([0-9.eE+-]+)\s*$", self.stdout, re.M)]

    @property
    def expected(self):
        """What a sample says a report must show: {key: number}."""
        found = {}
        for line in re.findall(r"^expect: *(.*)$", self.stdout, re.M):
            for key, value in re.findall(r"(\w+)=(\d+)", line):
                found[key] = int(value)
        return found

    @property
    def expected_kernels(self):
        lines = re.findall(r"^expect-kernel: *(\S+) +launches=(\d+)", self.stdout, re.M)
        return {name: int(launches) for name, launches in lines}

    def trouble(self):
        """One line on why it failed, or None."""
        if self.crashed:
            return self.crashed
        if self.rc:
            lines = [s for s in self.stderr.strip().splitlines() if s.strip()]
            return "exit status %d%s" % (self.rc, ": " + lines[-1][:200] if lines else "")
        return None

    def as_json(self):
        return {"exit": self.rc, "timed_out": self.timed_out, "seconds": round(self.seconds, 3),
                "loop_s": self.times, "results": self.results,
                "stderr": self.stderr[-TAIL:] if self.rc else None}


def run(argv, env, timeout, folder, name):
    """Runs argv; its output goes through files in `folder`, so that a grandchild that lives on holds nothing up."""
    out = os.path.join(folder, name + ".out")
    err = os.path.join(folder, name + ".err")
    start = time.monotonic()
    timed_out = False
    with open(out, "wb") as fout, open(err, "wb") as ferr:
        try:
            p = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=fout, stderr=ferr,
                                 start_new_session=True)
        except OSError as e:
            return Outcome(argv, 127, False, 0.0, "", str(e))
        try:
            p.wait(timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            stop_session(p)
    seconds = time.monotonic() - start
    return Outcome(argv, p.returncode, timed_out, seconds, text_of(out), text_of(err))


def stop_session(p):
    """Ends what is left of the session that the process leads."""
    try:
        os.killpg(p.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    p.wait()


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()
