# SPDX-License-Identifier: Apache-2.0
"""What a report says beside what the simulated driver counted, for programs that use the driver alone."""
import json
import re
import subprocess

from conftest import BUILD, ROOT

ROW = re.compile(r'^(?:CALL|ARGS|WRAP|HAND)\((cu\w+),', re.MULTILINE)


def recorded_calls():
    """Names of the driver's calls that are recorded, without what forms for per-thread default streams add."""
    names = set(ROW.findall((ROOT / 'shim/core/format/calls.def').read_text()))
    assert len(names) > 200
    return names - {'cuGetProcAddress', 'cuGetProcAddress_v2'} # asked by every runtime for itself; no calls of a program


def without_form(name):
    return re.sub(r'_pt[ds][sz]$', '', name)


def counted(report):
    return {api['name']: (api['calls'], api['failed']) for api in report['apis']}


def happened(truth):
    known = recorded_calls()
    return {name: (api['calls'], api['failed']) for name, api in truth['apis'].items()
            if without_form(name) in known}


def assert_same_calls(report, truth):
    """Every call the driver saw, exactly, name by name."""
    assert counted(report) == happened(truth)
    assert report['totals']['calls'] == sum(calls for calls, _ in happened(truth).values())
    assert report['totals']['launches'] == truth['totals']['launches']
    assert report['lost']['calls'] == 0


def assert_same_but_in_flight(report, truth):
    """A process that ended amid calls: each thread may have been between the driver's count and its own."""
    spied = {t['tid']: t for t in report['host']['threads']}
    seen = {t['tid']: t for t in truth['threads'] if t['launches']}
    assert seen.keys() <= spied.keys()
    for tid, thread in seen.items():
        assert thread['launches'] - spied[tid]['launches'] in (0, 1), (tid, thread, spied[tid])
    now, then = counted(report), happened(truth)
    assert now.keys() <= then.keys()
    missing = {name: calls - now.get(name, (0, 0))[0] for name, (calls, _) in then.items()}
    assert min(missing.values()) >= 0, missing
    assert sum(missing.values()) <= len(truth['threads']), missing
    assert report['lost']['calls'] == 0


def peek(recording):
    """What stands in a recording beside what reports tell: stores, rings, space."""
    text = subprocess.run([BUILD / 'tests/e2e/peek', recording], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(text)
