# SPDX-License-Identifier: Apache-2.0
"""Recorded runs of the programs with a fix, on several GPUs: on each of them one at a time has its turn, those after it load."""
import collections
import concurrent.futures

from acceptance import fixes, runs
from acceptance.modes import MODES

AHEAD = 3  # runs of a lane that load what they need while another one has its turn
LOOP_S = "1.0"


class Job:
    """One recorded run of a program."""

    def __init__(self, case, mode, number):
        self.case, self.mode, self.number = case, mode, number

    def start(self, settings, env):
        run = runs.Run(settings, fixes.program_of(settings, self.case), MODES[self.mode], "%s-%d" % (self.mode, self.number),
                       {"WORKLOAD_LOOP_S": LOOP_S, **env})
        run.hold()
        return run


def lane(settings, jobs, env, readers, use):
    """The futures of what use(job, run, outcome) gives, of the jobs that there was time for."""
    waiting, held, pending = collections.deque(jobs), collections.deque(), []
    try:
        while waiting or held:
            while waiting and len(held) <= AHEAD and not settings.out_of_time():
                job = waiting.popleft()
                held.append((job, job.start(settings, env)))
            if not held or settings.out_of_time():
                break
            job, run = held.popleft()
            try:
                run.at_gate()
                outcome = run.finish()
            finally:
                run.close()
            pending.append(readers.submit(use, job, run, outcome))
    finally:
        for _, run in held:
            run.close()
    return pending


def run_all(settings, jobs, use):
    """What `use` gave of each job that was run. It is called by several threads."""
    with concurrent.futures.ThreadPoolExecutor(2) as readers, concurrent.futures.ThreadPoolExecutor(settings.lanes) as pool:
        started = [pool.submit(lane, settings, jobs[n::settings.lanes],
                               {"CUDA_VISIBLE_DEVICES": str(n)} if settings.lanes > 1 else {}, readers, use)
                   for n in range(settings.lanes)]
        return [future.result() for each in started for future in each.result()]
