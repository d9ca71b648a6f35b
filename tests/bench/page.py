#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How soon the page of a report can be used: page.py PAGE. The best of three loads in headless Chromium; nothing where there is none."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'e2e'))
import browser as chromium  # noqa: E402

MOST_S = 1


def load(browser, path):
    page = browser.open(path)
    page.wait_for('document.documentElement.hasAttribute("data-ready")')
    ms = page.eval('performance.getEntriesByType("navigation")[0].domInteractive')
    page.close()
    return ms / 1000


def main():
    if not chromium.find():
        print(f'{"  until it can be used":<46} not measured: no chromium here (scripts/setup --test)')
        return
    with chromium.Browser() as browser:
        best = min(load(browser, sys.argv[1]) for _ in range(3))
    print(f'{"  until it can be used, best of 3":<46} {best:8.3f} s, at most {MOST_S}  {"PASS" if best <= MOST_S else "FAIL"}')


main()
