#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPythons for the tests, out of Debian's packages, where the machine has none of a version: unpacked into a folder with a C
library of their own, made to find it by patchelf. Nothing is installed. For scripts/setup.

usage: setup_pythons.py LIST FOLDER            fetches those of LIST that FOLDER and the machine lack; says which
       setup_pythons.py --missing LIST FOLDER  prints the versions that are lacking
"""
import glob
import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

SERVER = 'http://deb.debian.org/debian'
KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'
ARCH = {'x86_64': 'amd64', 'aarch64': 'arm64'}.get(platform.machine())
SECONDS = 60 # without an answer


def read_list(path):
    """[(version or "base", release, path of the package, its SHA-256)]"""
    rows = [line.split() for line in pathlib.Path(path).read_text().splitlines() if line and not line.startswith('#')]
    return [(what, release, f'pool/main/{stem}_{ARCH}.deb', amd64 if ARCH == 'amd64' else arm64)
            for what, release, stem, amd64, arm64 in rows]


def mark(rows, version):
    """What the version was made of."""
    return hashlib.sha256(repr([r for r in rows if r[0] in ('base', version)]).encode()).hexdigest()


def is_of_the_machine(version):
    """Where the tests look too."""
    return any(glob.glob(os.path.expanduser(p)) for p in
               (f'/usr/bin/python{version}', f'/usr/local/bin/python{version}', f'~/.pyenv/versions/{version}.*/bin/python3'))


def missing(rows, folder):
    found = []
    for version in dict.fromkeys(r[0] for r in rows if r[0] != 'base'):
        have = folder / '.have' / version
        if not is_of_the_machine(version) and not (have.exists() and have.read_text() == mark(rows, version)):
            found.append(version)
    return found


# ---- fetching ----------------------------------------------------------------------------------------------------------

def download(url, sha256):
    """The file's bytes; None where it is not there."""
    try:
        with urllib.request.urlopen(url, timeout=SECONDS) as answer:
            data = answer.read()
    except urllib.error.HTTPError as e:
        if e.code == 404:
            return None
        raise
    if hashlib.sha256(data).hexdigest() != sha256:
        raise SystemExit(f'{url} is not what it should be')
    return data


def newest(release, package, work):
    """(URL, SHA-256) of a package as the release's signed index has it now."""
    state = work / release
    options = []
    for name, value in {'Dir::Etc::SourceList': state / 'list', 'Dir::Etc::SourceParts': '/dev/null', 'Dir::State': state,
                        'Dir::State::Lists': state / 'lists', 'Dir::State::status': '/dev/null', 'Dir::Cache': state / 'cache',
                        'Acquire::Languages': 'none', 'APT::Architecture': ARCH, 'APT::Sandbox::User': 'root'}.items():
        options += ['-o', f'{name}={value}']
    if not state.exists():
        (state / 'lists/partial').mkdir(parents=True)
        (state / 'cache/archives/partial').mkdir(parents=True)
        (state / 'list').write_text(f'deb [arch={ARCH} signed-by={KEYRING}] {SERVER} {release} main\n')
        subprocess.run(['apt-get', '-qq', *options, '-o', 'APT::Update::Error-Mode=any', 'update'], check=True)
    fields = {}
    for line in subprocess.run(['apt-cache', *options, '--no-all-versions', 'show', package], check=True, stdout=subprocess.PIPE,
                               universal_newlines=True).stdout.splitlines():
        name, _, value = line.partition(': ')
        fields.setdefault(name, value)
    return f'{SERVER}/{fields["Filename"]}', fields['SHA256']


def fetch(row, work):
    """A package's file."""
    _, release, path, sha256 = row
    data = download(f'{SERVER}/{urllib.parse.quote(path)}', sha256)
    if data is None:
        url, sha256 = newest(release, path.split('/')[-1].split('_')[0], work)
        print(f'{path.split("/")[-1]} has left the servers: {url.split("/")[-1]}', flush=True)
        data = download(url, sha256)
    if data is None:
        raise SystemExit(f'the servers have no {path}')
    file = work / path.split('/')[-1]
    file.write_bytes(data)
    return file


# ---- making ------------------------------------------------------------------------------------------------------------

def make(rows, folder, version, work):
    """FOLDER/VERSION: a prefix that is complete, or not there."""
    prefix, final = work / version, folder / version
    prefix.mkdir()
    for row in rows:
        if row[0] in ('base', version):
            subprocess.run(['dpkg-deb', '-x', fetch_once(row, work), prefix], check=True)
    triplet = f'{platform.machine()}-linux-gnu'
    (loader,) = [p for p in prefix.glob('usr/lib*/**/ld-linux-*.so.?') if not p.is_symlink()][:1]
    python = prefix / f'usr/bin/python{version}'
    libraries = ':'.join(str(final / p / triplet) for p in ('usr/lib', 'lib'))
    subprocess.run([prefix / 'usr/bin/patchelf', '--set-interpreter', final / loader.relative_to(prefix), '--force-rpath', '--set-rpath',
                    libraries, python], check=True)
    for part in 'usr/share', 'usr/bin/patchelf', f'usr/lib/{triplet}/gconv':
        path = prefix / part
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
    if final.exists():
        shutil.rmtree(final)
    prefix.rename(final)
    works = 'import sys, ctypes, json, asyncio, threading; print("%d.%d.%d" % sys.version_info[:3])'
    said = subprocess.run([final / f'usr/bin/python{version}', '-I', '-c', works], stdout=subprocess.PIPE, universal_newlines=True)
    if said.returncode:
        shutil.rmtree(final)
        raise SystemExit(f'CPython {version} does not run here')
    have = folder / '.have' / version
    have.parent.mkdir(exist_ok=True)
    have.write_text(mark(rows, version))
    print(f'CPython {said.stdout.strip()}', flush=True)


fetched = {}


def fetch_once(row, work):
    if row not in fetched:
        fetched[row] = fetch(row, work)
    return fetched[row]


def main():
    arguments = [a for a in sys.argv[1:] if a != '--missing']
    if len(arguments) != 2:
        raise SystemExit(__doc__)
    if not ARCH:
        return
    rows, folder = read_list(arguments[0]), pathlib.Path(arguments[1]).resolve()
    versions = missing(rows, folder)
    if '--missing' in sys.argv:
        print(*versions)
        return
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        for version in versions:
            make(rows, folder, version, pathlib.Path(work))


if __name__ == '__main__':
    try:
        main()
    except (OSError, subprocess.CalledProcessError) as e:
        raise SystemExit(str(e))
