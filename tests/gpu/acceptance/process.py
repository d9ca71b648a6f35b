# SPDX-License-Identifier: Apache-2.0
"""Runs one program with a time-out, and reads what it printed."""
import os
import re
import select
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

    def announced(self, what):
        """The values of a sample's lines `expect: WHAT=value`."""
        return re.findall(r"^expect: *%s=(\S+)$" % re.escape(what), self.stdout, re.M)

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


class Started:
    """A program under way. Its output goes through files in `folder`: a grandchild that lives on holds nothing up."""

    def __init__(self, argv, env, folder, name):
        self.argv = argv
        self.out = os.path.join(folder, name + ".out")
        self.err = os.path.join(folder, name + ".err")
        self.start = time.monotonic()
        self.p = self.trouble = None
        with open(self.out, "wb") as fout, open(self.err, "wb") as ferr:
            try:
                self.p = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=fout,
                                          stderr=ferr, start_new_session=True)
            except OSError as e:
                self.trouble = str(e)

    def finish(self, timeout):
        """Waits for its end, at most `timeout` seconds from now."""
        if not self.p:
            return Outcome(self.argv, 127, False, 0.0, "", self.trouble)
        timed_out = False
        try:
            wait_for(self.p, timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            stop_session(self.p)
        return Outcome(self.argv, self.p.returncode, timed_out, time.monotonic() - self.start,
                       text_of(self.out), text_of(self.err))


def run(argv, env, timeout, folder, name):
    """Runs argv to its end."""
    return Started(argv, env, folder, name).finish(timeout)


def wait_for(p, timeout):
    """As p.wait(timeout), which looks every 50 ms: this returns when the process ends."""
    try:
        fd = os.pidfd_open(p.pid)
    except (AttributeError, OSError):  # an older Python or kernel
        p.wait(timeout)
        return
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        poll.poll(1000 * timeout)
    finally:
        os.close(fd)
    p.wait(0)


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
