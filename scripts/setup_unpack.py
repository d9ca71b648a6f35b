#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unpacks wheels for scripts/setup.

setup_unpack.py toolkit DEST WHEEL   nvidia/cuNN/... becomes DEST/..., licences DEST/dist-info/...
setup_unpack.py cudart  DEST WHEEL   only libcudart.so.N, into DEST
setup_unpack.py program DEST WHEEL   only clang-format, into DEST
setup_unpack.py links   DEST ARCH    the names a toolkit has beside what the wheels hold
setup_unpack.py symbols              driver functions, read from a preprocessed cuda.h on stdin
"""

import fnmatch
import os
import re
import stat
import sys
import zipfile

TOOLKIT = re.compile(r"nvidia/cu\d+/(.+)")


def write_entry(wheel, entry, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    part = target + ".part"
    with wheel.open(entry) as source, open(part, "wb") as out:
        while True:
            block = source.read(1 << 20)
            if not block:
                break
            out.write(block)
    # zipfile drops the mode; nvcc and its helpers need their x bit, for everybody.
    runs = (entry.external_attr >> 16) & stat.S_IXUSR
    os.chmod(part, 0o755 if runs else 0o644)
    os.replace(part, target)


def toolkit_path(name):
    match = TOOLKIT.match(name)
    if match:
        return None if match.group(1).startswith(".") else match.group(1)
    if ".dist-info/" in name:
        return "dist-info/" + name
    return None


def cudart_path(name):
    base = os.path.basename(name)
    return base if fnmatch.fnmatch(base, "libcudart.so.*") else None


def program_path(name):
    return "clang-format" if name.endswith("/bin/clang-format") else None


def unpack(path_of, dest, wheel_path):
    written = 0
    with zipfile.ZipFile(wheel_path) as wheel:
        for entry in wheel.infolist():
            path = path_of(entry.filename)
            if not path or entry.filename.endswith("/"):
                continue
            if ".." in path.split("/"):
                sys.exit("%s: %s leads out of its folder" % (wheel_path, entry.filename))
            write_entry(wheel, entry, os.path.join(dest, path))
            written += 1
    if not written:
        sys.exit("%s: holds nothing of what was expected" % wheel_path)


def link(target, name):
    os.makedirs(os.path.dirname(name), exist_ok=True)
    if not os.path.lexists(name):
        os.symlink(target, name)


def make_links(dest, arch):
    lib = os.path.join(dest, "lib")
    link("lib", os.path.join(dest, "lib64"))
    for name in sorted(os.listdir(lib)):
        match = re.match(r"(lib.+\.so)\.[0-9.]+$", name)
        if match:
            link(name, os.path.join(lib, match.group(1)))
    # nvcc looks for headers and libraries below the name of its target.
    for target in ["sbsa-linux", "aarch64-linux"] if arch == "aarch64" else ["x86_64-linux"]:
        for part in ["include", "lib"]:
            link("../../" + part, os.path.join(dest, "targets", target, part))


def print_symbols():
    names = set(re.findall(r"\bCUresult\s+(?:CUDAAPI\s+)?(cu[A-Z]\w*)\s*\(", sys.stdin.read()))
    print("\n".join(sorted(names)))


def main(args):
    if args == ["symbols"]:
        print_symbols()
    elif len(args) == 3 and args[0] == "toolkit":
        unpack(toolkit_path, args[1], args[2])
    elif len(args) == 3 and args[0] == "cudart":
        unpack(cudart_path, args[1], args[2])
    elif len(args) == 3 and args[0] == "program":
        unpack(program_path, args[1], args[2])
    elif len(args) == 3 and args[0] == "links":
        make_links(args[1], args[2])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
