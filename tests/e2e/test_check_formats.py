# SPDX-License-Identifier: Apache-2.0
"""What other programs read of `cudaspy check`: JUnit XML and workflow commands, held against their public definitions.

The rules below are written from these definitions, not copied:
  Ant's JUnit results, schema JUnit.xsd of windyroad/JUnit-Schema (Apache-2.0), the stricter one: every attribute that it
  requires, the order of elements, the types of values; and what Jenkins' xunit plugin (junit-10.xsd) allows besides.
  GitHub's "Workflow commands": ::COMMAND PROPERTY=VALUE,...::MESSAGE, with %25, %0D, %0A and in properties %3A, %2C.
"""
import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

from test_check import GATED, baseline, check, runs # noqa: F401 (fixtures)

NUMBER = re.compile(r'-?\d+').fullmatch
DECIMAL = re.compile(r'[+-]?(\d+(\.\d*)?|\.\d+)').fullmatch
TIMESTAMP = re.compile(r'\d{4}-(0[1-9]|1[0-2])-([0-2]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d').fullmatch


def filled(text):
    """xs:token of length 1 or more: blanks are put together before it is looked at."""
    return bool(text.split())


def anything(text):
    return True


token = anything  # xs:token without a length: the same


# element: attributes (name: type), those among them that are optional, the order of children with how many of each
ELEMENTS = {
    'testsuites': ({}, (), [('testsuite', 0, None)]),
    'testsuite': ({'name': filled, 'timestamp': TIMESTAMP, 'hostname': filled, 'tests': NUMBER, 'failures': NUMBER,
                   'errors': NUMBER, 'skipped': NUMBER, 'time': DECIMAL, 'package': token, 'id': NUMBER}, ('skipped',),
                  [('properties', 1, 1), ('testcase', 0, None), ('system-out', 1, 1), ('system-err', 1, 1)]),
    'properties': ({}, (), [('property', 0, None)]),
    'property': ({'name': filled, 'value': anything}, (), []),
    'testcase': ({'name': token, 'classname': token, 'time': DECIMAL}, (), [(('skipped', 'error', 'failure'), 0, 1)]),
    'error': ({'message': anything, 'type': anything}, ('message',), []),
    'failure': ({'message': anything, 'type': anything}, ('message',), []),
    'system-out': ({}, (), []),
    'system-err': ({}, (), []),
}
WITH_TEXT = {'error', 'failure', 'system-out', 'system-err'}


def junit_errors(element):
    """Everything in which an element and what is below it differ from the schema."""
    attributes, optional, children = ELEMENTS[element.tag]
    for name, value in element.attrib.items():
        if name not in attributes:
            yield f'{element.tag}: unknown attribute {name}'
        elif not attributes[name](value):
            yield f'{element.tag}: {name}={value!r}'
    for name in attributes:
        if name not in element.attrib and name not in optional:
            yield f'{element.tag}: no {name}'
    tags = [child.tag for child in element]
    for names, least, most in children:
        names = names if isinstance(names, tuple) else (names,)
        count = 0
        while tags and tags[0] in names and (most is None or count < most):
            tags.pop(0)
            count += 1
        if count < least:
            yield f'{element.tag}: no {names[0]}'
    if tags:
        yield f'{element.tag}: {tags[0]} out of its place'
    if element.tag not in WITH_TEXT and ((element.text or '').strip() or any((c.tail or '').strip() for c in element)):
        yield f'{element.tag}: text'
    for child in element:
        if child.tag in ELEMENTS:
            yield from junit_errors(child)


def junit(*args, status):
    root = ElementTree.fromstring(check('--format', 'junit', *args, status=status).stdout)
    assert root.tag == 'testsuites' and not list(junit_errors(root))
    for number, suite in enumerate(root):
        assert int(suite.get('id')) == number
        cases = suite.findall('testcase')
        assert int(suite.get('tests')) == len(cases)
        for kind in ('failure', 'error'):
            assert int(suite.get(kind + 's')) == sum(case.find(kind) is not None for case in cases)
    return root


RULES = ['-l', 'launches <= +0', '-l', 'gpu_busy_share >= 5%', '-l', 'kernel "<&>\\"" launches = 0', '-l',
         'launches_per_step <= 2', '-l', 'range "x" launches <= 1', '-l', 'launch_p50_ns <= 1s']


def test_junit(runs, baseline):
    root = junit('--baseline', baseline, *RULES, runs('launch'), runs('launch', repeat=1), status=1)
    cases = root[0].findall('testcase')
    assert [case.get('name') for case in cases] == RULES[1::2]
    assert [[e.tag for e in case] for case in cases] == [['failure'], ['error'], [], ['failure'], ['error'], []]
    assert 'before 40, after 60' in cases[0][0].get('message') and cases[0][0].get('type') == 'fail'
    properties = {p.get('name'): p.get('value') for p in root[0].find('properties')}
    assert properties == {'baseline': str(baseline), 'steps': '20 found by cuStreamSynchronize, 18 judged'}


def test_junit_of_what_passed(runs, baseline):
    root = junit('--baseline', baseline, runs(), status=0)
    assert (root[0].get('failures'), root[0].get('errors'), root[0].get('tests')) == ('0', '0', str(GATED))


@pytest.mark.parametrize('spoil, error', [
    (lambda suite: suite.attrib.pop('timestamp'), 'no timestamp'),
    (lambda suite: suite.set('time', '1s'), "time='1s'"),
    (lambda suite: suite.set('colour', 'red'), 'unknown attribute colour'),
    (lambda suite: suite.append(suite[0]), 'out of its place'),
    (lambda suite: suite.remove(suite[0]), 'no properties'),
])
def test_this_check_of_junit_finds_errors(runs, spoil, error):
    root = junit('-l', 'launches = 1', runs(), status=1)
    spoil(root[0])
    assert any(error in e for e in junit_errors(root))


COMMAND = re.compile(r'::(error|warning|notice)(?: ([^:]*?))?::(.*)')
PROPERTIES = {'file': anything, 'line': NUMBER, 'endLine': NUMBER, 'col': NUMBER, 'endColumn': NUMBER, 'title': anything}


def unescaped(text, codes):
    assert not re.search(r'%(?!' + '|'.join(codes) + ')', text), text
    for code in codes:
        text = text.replace('%' + code, chr(int(code, 16))) if code != '25' else text
    return text.replace('%25', '%')


def annotations(*args, status):
    """(command, properties, message) of each line, as the runner reads it; the last line is for people."""
    found = []
    for line in check('--format', 'github', *args, status=status).stdout.splitlines():
        if not line.startswith('::'):
            continue
        command, properties, message = COMMAND.fullmatch(line).groups()
        pairs = dict(pair.split('=', 1) for pair in (properties or '').split(',') if pair)
        for name, value in pairs.items():
            assert PROPERTIES[name](unescaped(value, ('0D', '0A', '3A', '2C', '25'))), line
        found.append((command, {n: unescaped(v, ('0D', '0A', '3A', '2C', '25')) for n, v in pairs.items()},
                      unescaped(message, ('0D', '0A', '25'))))
    return found


def test_github(runs, baseline, tmp_path):
    config = tmp_path / 'a,b:c%.toml'
    config.write_text(f'baseline = "{baseline}"\nlimits = [\n"launches <= +0",\n"gpu_busy_share >= 5%",\n"syncs = 20",\n]\n')
    error, warning = annotations('--config', config, runs('launch'), status=1)
    assert error[0] == 'error' and error[1] == {'file': str(config), 'line': '3', 'title': 'cudaspy check'}
    assert error[2].startswith('launches <= +0: before 40, after 60 (+20, +50.0 %), limit 40')
    assert warning[0] == 'warning' and warning[1]['line'] == '4' and warning[2].startswith('gpu_busy_share >= 5%: ')
    passed = annotations('--baseline', baseline, runs(), status=0)
    assert passed == [('notice', {'title': 'cudaspy check'}, f'{GATED} rules passed')]
    (limit,) = annotations('--limit', 'launches = 1', runs(), status=1)
    assert limit[1] == {'title': 'cudaspy check'}  # no file to point at


def test_json_and_text_say_the_same(runs, baseline):
    found = json.loads(check('--format', 'json', '-b', baseline, *RULES, runs('launch'), status=1).stdout)
    assert list(found) == ['schema', 'generated_by', 'outcome', 'passed', 'failed', 'inconclusive', 'baseline',
                           'baseline_recordings', 'recordings', 'steps', 'machines_differ', 'rules']
    words = {'pass': 'pass', 'fail': 'FAIL', 'inconclusive': 'unsure'}
    text = check('-b', baseline, *RULES, runs('launch'), status=1).stdout
    for rule in found['rules']:
        assert f"{words[rule['outcome']]:12}{rule['rule']}: {rule['message']}" in text
    markdown = check('--format', 'md', '-b', baseline, *RULES, runs('launch'), status=1).stdout
    assert len([line for line in markdown.splitlines() if line.startswith(('| FAIL', '| pass', '| unsure'))]) == len(found['rules'])
