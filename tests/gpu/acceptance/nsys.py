# SPDX-License-Identifier: Apache-2.0
"""What nsys recorded: its report as an SQLite file, and the GPU's work counted in it."""
import glob
import os
import sqlite3
import subprocess

from acceptance import work
from acceptance.settings import find_importer

TIMEOUT = 120
TABLES = {"kernel": "CUPTI_ACTIVITY_KIND_KERNEL", "copy": "CUPTI_ACTIVITY_KIND_MEMCPY",
          "set": "CUPTI_ACTIVITY_KIND_MEMSET"}


class NsysFailed(Exception):
    """No figures; the text says why."""


def call(argv, env):
    try:
        done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False, text=True,
                              errors="replace")
    except (OSError, subprocess.TimeoutExpired) as e:
        raise NsysFailed("%s: %s" % (os.path.basename(argv[0]), e)) from e
    if done.returncode:
        lines = done.stdout.strip().splitlines()
        raise NsysFailed("%s: exit %d: %s" % (" ".join(map(os.path.basename, argv[:2])),
                                              done.returncode, lines[-1][:150] if lines else ""))


def report_of(settings, folder):
    """The .nsys-rep in the folder; made from the raw file where nsys could not make it itself."""
    made = glob.glob(os.path.join(folder, "*.nsys-rep"))
    if made:
        return made[0]
    raw = glob.glob(os.path.join(folder, "*.qdstrm"))
    importer = find_importer(settings.nsys)
    if not raw or not importer:
        raise NsysFailed("nsys left %s, and its importer is %s" % (
            "a raw file" if raw else "no file", importer or "not installed"))
    path = os.path.join(folder, "nsys.nsys-rep")
    call([importer, "--input-file", raw[0], "--output-file", path], settings.environment())
    return path


def counted(path):
    """{kind: {name: pieces}} of an exported file; kernels by their short name, without cudaspy's own."""
    found = {"kernel": {}, "copy": {}, "set": {}}
    with sqlite3.connect(path) as db:
        there = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for kind, table in TABLES.items():
            if table not in there:
                continue
            if kind == "kernel":
                rows = db.execute("SELECT s.value, count(*) FROM %s k JOIN StringIds s "
                                  "ON s.id = k.shortName GROUP BY s.value" % table)
            else:
                rows = db.execute("SELECT '%s', count(*) FROM %s" % (kind, table))
            found[kind] = {name: count for name, count in rows
                           if count and name not in work.OWN_KERNELS}
    return found


def read(settings, folder):
    """What nsys recorded in the folder; raises NsysFailed."""
    path = os.path.join(folder, "nsys.sqlite")
    call([settings.nsys, "export", "--type=sqlite", "--force-overwrite=true", "-o", path,
          report_of(settings, folder)], settings.environment())
    try:
        return counted(path)
    except sqlite3.Error as e:
        raise NsysFailed("the exported file: %s" % e) from e
