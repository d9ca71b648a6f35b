# SPDX-License-Identifier: Apache-2.0
"""report/cudaspy.1 has each command's options, those that its --help tells and no others."""
import re
import subprocess

import pytest

from conftest import REPORTER, ROOT

COMMANDS = 'run', 'report', 'diff', 'bench', 'check', 'export', 'calibrate'
OPTION = re.compile(r'(?<![\w-])--?[a-z][a-z-]*')
HELP = {'-h', '--help'} # of all alike


def of_help(command):
    """What stands in the first column of its lines on options."""
    out = subprocess.run([REPORTER, command, '--help'], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    columns = (re.split(r' {2,}', line.strip())[0] for line in out.splitlines() if re.match(r' +-', line))
    return {option for column in columns for option in OPTION.findall(column)}


def plain(roff):
    """A line without its request, fonts and escapes."""
    return re.sub(r'\\f.', '', re.sub(r'^\.[A-Z]+ ', '', roff)).replace('\\-', '-').replace('"', '')


def of_page(command):
    """What the tagged paragraphs (.TP) of its section are about."""
    page = (ROOT / 'report/cudaspy.1').read_text()
    section = re.search(rf'^\.SS cudaspy {command}$(.*?)^\.S[SH]', page, re.MULTILINE | re.DOTALL).group(1).splitlines()
    tags = [plain(section[i + 1]) for i, line in enumerate(section) if line == '.TP']
    return {option for tag in tags for option in OPTION.findall(tag)}


@pytest.mark.parametrize('command', COMMANDS)
def test_options_of_the_page_and_of_help(command):
    told, written = of_help(command), of_page(command)
    assert {'--output', '--help'} <= told
    assert told - written - HELP == set(), 'in --help alone'
    assert written - told == set(), 'in the manual page alone'


def test_the_page_has_what_all_commands_take():
    page = plain((ROOT / 'report/cudaspy.1').read_text())
    assert HELP <= set(OPTION.findall(page))
