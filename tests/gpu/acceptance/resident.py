# SPDX-License-Identifier: Apache-2.0
"""A workload that waits for its turn (tests/gpu/workloads/common.py, --serve), and programs run anew for each turn."""
import os
import re
import select
import statistics
import subprocess
import time

from acceptance import process


class RunFailed(Exception):
    """A run that gave no time; the text says why."""


class Resident:
    """A process that answers on pipes of its own: tools may take its standard streams."""

    def __init__(self, settings, program, mode, folder):
        self.timeout = settings.time_left(program.timeout)
        stem = os.path.join(folder, mode.name)
        self.output = stem + ".txt"
        for end in (".in", ".out"):
            if os.path.exists(stem + end):
                os.unlink(stem + end)
            os.mkfifo(stem + end)
        # Both ways, so that neither side waits for the other to open it.
        self.to = os.open(stem + ".in", os.O_RDWR | os.O_CLOEXEC)
        self.back = os.open(stem + ".out", os.O_RDWR | os.O_CLOEXEC)
        self.rest = b""
        argv = mode.argv(settings, folder, program.loop + ["--serve", stem])
        env = {**mode.environment(settings, folder), **program.env}
        with open(self.output, "wb") as out:
            self.p = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=out,
                                      stderr=subprocess.STDOUT, start_new_session=True)

    def said(self):
        """Why it ended, in its last line."""
        text = process.text_of(self.output)
        skipped = re.search(r"^skip: .*$", text, re.M)
        lines = text.strip().splitlines()
        return skipped.group(0) if skipped else lines[-1][:200] if lines else "no message"

    def line(self, pattern):
        """The next line of its answers that fits; others are passed over."""
        until = time.monotonic() + self.timeout
        while True:
            while b"\n" in self.rest:
                text, self.rest = self.rest.split(b"\n", 1)
                found = re.match(pattern, text.decode("utf-8", "replace"))
                if found:
                    return found
            if time.monotonic() >= until:
                raise RunFailed("no answer for %d s: %s" % (self.timeout, self.said()))
            if select.select([self.back], [], [], 0.5)[0]:
                self.rest += os.read(self.back, 65536)
            elif self.p.poll() is not None:
                raise RunFailed("it ended: %s" % self.said())

    def turn(self):
        os.write(self.to, b"go\n")
        return float(self.line(r"time_s: *([0-9.eE+-]+)").group(1))

    def close(self):
        """Lets it end: its side of the pipe sees the end of the file when ours is closed."""
        os.close(self.to)
        try:
            self.p.wait(20)
        except subprocess.TimeoutExpired:
            pass
        process.stop_session(self.p)
        os.close(self.back)


class Fresh:
    """The same, for a program that is run anew for each turn and times its loop itself."""

    def __init__(self, settings, program, mode, folder):
        self.settings, self.program, self.mode, self.folder = settings, program, mode, folder

    def line(self, pattern):
        """Nothing to wait for."""

    def turn(self):
        program, mode = self.program, self.mode
        argv = program.quick_argv if self.settings.quick else program.loop
        env = {**mode.environment(self.settings, self.folder), **program.env}
        outcome = process.run(mode.argv(self.settings, self.folder, argv), env,
                              self.settings.time_left(program.timeout), self.folder, mode.name)
        for name in os.listdir(self.folder):
            if name.endswith((".cudaspy", ".nsys-rep", ".qdstrm")):
                os.unlink(os.path.join(self.folder, name))  # turns are many, and nobody reads these
        trouble = outcome.skipped or outcome.trouble()
        if not outcome.times or (trouble and not mode.may_fail):
            raise RunFailed(trouble or "it printed no time")
        return statistics.median(outcome.times)

    def close(self):
        """Nothing is left of the last turn."""
