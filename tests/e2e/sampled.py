# SPDX-License-Identifier: Apache-2.0
"""What the tests of sampling share: programs under the sampler on the simulated CUDA, and what it left in the recording.

The simulator leaves the sampler's own kernels out of its truth, and the time between two events in it is exact: the gap
between kernels, and the kernel's cost. So the figures can be compared to the nanosecond, if only the host was in time: in
virtual time it is. With several threads a sample is dropped where it was not, and on a busy machine many are: no such test
asks for more than some.
"""
import json
import subprocess

import pytest

import against_truth
from conftest import BUILD, SAMPLES, SIM, VIRTUAL_TIME

SAMPLING, CAPTURES, REMADE, TURNS = 'tests/e2e/sampling', 'tests/e2e/captures', 'tests/e2e/remade', 'tests/e2e/turns'
# In the machine's own time: virtual time is for programs of one thread.
SEVERAL_THREADS = [CAPTURES, TURNS, SAMPLES / 'sim-ptsz/threads', 'threads', 'relay', 'two_rates', 'beside', 'crossing']
COSTS = {'k0': 3000, 'k1': 5000, 'k2': 7000, 'k3': 11000, 'k4': 13000, 'k5': 17000, 'k6': 19000, 'k7': 23000}
NULL_NS = 590 # the sampler's empty kernel, in the simulator as on an H200


class Sampled:
    """What sampling left in a recording."""

    def __init__(self, recording):
        text = subprocess.run([BUILD / 'tests/e2e/samples', recording], stdout=subprocess.PIPE, check=True).stdout
        found = json.loads(text)
        self.mode, self.facts, self.classes = found['mode'], found['facts'], found['classes']
        self.threads, self.trouble = found['threads'], found['trouble']

    def of(self, kind, **wanted):
        return [c for c in self.classes if c['kind'] == kind and all(c[k] == v for k, v in wanted.items())]

    def count(self, kind, regime=None, **wanted):
        return sum(c[r] for c in self.of(kind, **wanted) for r in ('idle', 'busy') if regime in (None, r))

    def mean(self, kind, regime, **wanted):
        return sum(c[regime + '_ns'] for c in self.of(kind, **wanted)) / self.count(kind, regime, **wanted)

    @property
    def kernels(self):
        return {c['kernel'] for c in self.of('kernel')}

    @property
    def taken(self):
        return sum(t['samples'] for t in self.threads)


@pytest.fixture
def sample(run, tmp_path):
    """sample('loop', 8, 100) runs the program `sampling` under the sampler: (Run, Sampled)."""

    def go(*args, program=SAMPLING, **variables):
        for earlier in tmp_path.glob('*.cudaspy'):
            earlier.unlink()
        time = {} if {program, *args[:1]} & set(SEVERAL_THREADS) else VIRTUAL_TIME
        r = run(program, *args, **{'CUDASPY_GPU': 'sample', 'SIM_COST': 0, **time, **variables})
        assert r.status == 0, r.out + r.err
        return r, Sampled(r.recording)

    return go


@pytest.fixture
def driver_without(tmp_path):
    """A folder with a simulated driver that does not export a name: the name in its string table is another one."""

    def go(name):
        folder = tmp_path / 'driver'
        folder.mkdir()
        image = (SIM / 'libcuda.so.1').read_bytes()
        assert b'\0' + name.encode() + b'\0' in image
        (folder / 'libcuda.so.1').write_bytes(image.replace(b'\0' + name.encode() + b'\0',
                                                           b'\0X' + name[1:].encode() + b'\0'))
        return folder

    return go


def own_calls(r):
    """Calls that the driver got and no recording has: the sampler's."""
    seen = {api['name']: api['calls'] for api in r.report['apis']}
    return {name: calls - seen.get(name, 0) for name, (calls, _) in against_truth.happened(r.truth).items()
            if calls > seen.get(name, 0)}
