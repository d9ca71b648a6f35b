#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates the simulated driver's exports from NVIDIA's headers.

usage: gen_driver.py PREPROCESSED_HEADERS CUDA_INCLUDE OUT_DIR SOURCE...

PREPROCESSED_HEADERS declares every ELF symbol of libcuda (cuda.h and cudaProfiler.h with
__CUDA_API_VERSION_INTERNAL).  The sources define `do_<ELF name>`; an export whose signature equals
that of another version of the same call shares its implementation, and one without any
implementation counts the call and answers CUDA_ERROR_NOT_SUPPORTED.
"""
import io
import re
import sys

# What may be called before cuInit, in a forked child and after the driver's exit handler.
ALWAYS_ALLOWED = {
    'cuDriverGetVersion',
    'cuGetErrorName',
    'cuGetErrorString',
    'cuGetExportTable',
    'cuGetProcAddress',
    'cuGetProcAddress_v2',
    'cuInit',
}

# The entry that no header knows (SIM_NEW_ENTRY): name, version, parameters.
FUTURE = ('cuFutureLaunch', 14000, 'CUfunction f, CUstream hStream')
# What this driver has also where the headers are older than it (SIM_DRIVER_VERSION is what a program can ask for).
LATER = [(name + form, version, params) for form in ('', '_ptsz') for name, version, params in (
    ('cuMemcpyWithAttributesAsync', 13020,
     'CUdeviceptr dst, CUdeviceptr src, size_t size, CUmemcpyAttributes *attr, CUstream hStream'),
    ('cuMemcpy3DWithAttributesAsync', 13020, 'CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags, CUstream hStream'))]


def split_params(text):
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in '([') - (c in ')]')
        if c == ',' and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [p.strip() for p in parts if p.strip() and p.strip() != 'void']


class Call:
    def __init__(self, elf, params):
        self.elf = elf
        self.params = split_params(params)
        self.suffix = ''
        m = re.match(r'(cu\w+?)(?:_v(\d))?(_ptsz|_ptds)?$', elf)
        self.base, self.rank, self.suffix = m.group(1), int(m.group(2) or 1), m.group(3) or ''
        self.plain = elf[:len(elf) - len(self.suffix)]
        self.names = [re.search(r'(\w+)$', p).group(1) for p in self.params]
        self.types = [re.sub(r'\s+', ' ', re.sub(r'\w+$', '', p)).replace(' *', '*').strip()
                      for p in self.params]
        self.signature = ', '.join(self.params) or 'void'


def read_calls(path):
    text = re.sub(r'^#.*$', '', open(path).read(), flags=re.M)
    text = re.sub(r'\s+', ' ', text)
    found = {}
    for m in re.finditer(r'CUresult (cu[A-Z]\w*)\(([^;{}]*)\) ?;', text):
        found.setdefault(m.group(1), Call(m.group(1), m.group(2)))
    for name, _, params in [FUTURE, *LATER]:
        found.setdefault(name, Call(name, params))
    return [found[k] for k in sorted(found)]


def read_versions(include, calls):
    """(elf name -> version) by rank: the n-th version of a name is its n-th ELF form."""
    text = ''
    for header in ('cudaTypedefs.h', 'cudaProfilerTypedefs.h'):
        text += open('%s/%s' % (include, header)).read()
    versions = {}
    for name, number, suffix in re.findall(r'\*PFN_(\w+?)_v(\d+)(_ptsz|_ptds)?\)', text):
        versions.setdefault((name, suffix), set()).add(int(number))
    for name, version, _ in [FUTURE, *LATER]:
        base, _, suffix = name.partition('_')
        versions.setdefault((base, suffix and '_' + suffix), {version})
    result = {}
    for (name, suffix), numbers in versions.items():
        forms = sorted((c for c in calls if c.base == name and c.suffix == suffix),
                       key=lambda c: c.rank)
        if len(forms) != len(numbers):
            sys.exit('gen_driver: %s%s has %d versions and %d symbols'
                     % (name, suffix, len(numbers), len(forms)))
        for call, number in zip(forms, sorted(numbers)):
            result[call.elf] = number
    return result


def implementations(calls, sources):
    defined = set()
    for path in sources:
        defined |= set(re.findall(r'^CUresult do_(cu\w+)\(', open(path).read(), flags=re.M))
    by_elf = {c.elf: c for c in calls}
    unknown = defined - set(by_elf)
    if unknown:
        sys.exit('gen_driver: implemented but in no header: ' + ' '.join(sorted(unknown)))
    chosen = {}
    for c in calls:
        if c.plain in defined:
            chosen[c.elf] = c.plain
            continue
        twins = [d for d in defined
                 if by_elf[d].base == c.base and by_elf[d].types == c.types]
        chosen[c.elf] = sorted(twins)[-1] if twins else None
    return chosen


def export(call, implementation):
    how = []
    if call.suffix:
        how.append('SIM_PER_THREAD')
    if call.plain in ALWAYS_ALLOWED:
        how.append('SIM_ALWAYS')
    body = 'rc = CUDA_ERROR_NOT_SUPPORTED;'
    if implementation:
        body = 'rc = do_%s(%s);' % (implementation, ', '.join(call.names))
    return ('SIM_EXPORT CUresult %s(%s)\n{\n\tstruct sim_thread *t;\n'
            '\tCUresult rc = sim_enter(&t, API_%s, %s);\n\n'
            '\tif (likely(rc == CUDA_SUCCESS))\n\t\t%s\n'
            '\treturn sim_leave(t, API_%s, rc);\n}\n'
            % (call.elf, call.signature, call.elf, ' | '.join(how) or '0', body, call.elf))


def keep(path, text):
    """Writes the file only if it would change, so that nothing is compiled anew for nothing."""
    try:
        if open(path).read() == text:
            return
    except OSError:
        pass
    with open(path, 'w') as f:
        f.write(text)


def main():
    headers, include, out = sys.argv[1:4]
    calls = read_calls(headers)
    versions = read_versions(include, calls)
    chosen = implementations(calls, sys.argv[4:])

    with io.StringIO() as f:
        f.write('/* Generated: the calls by number, and the functions that implement them. */\n'
                '#pragma once\n#define __CUDA_API_VERSION_INTERNAL\n'
                '#include <cuda.h>\n#include <cudaProfiler.h>\n\nenum sim_api {\n')
        f.writelines('\tAPI_%s,\n' % c.elf for c in calls)
        f.write('\tSIM_APIS\n};\n\n')
        f.writelines('CUresult do_%s(%s);\n' % (c.elf, c.signature)
                     for c in calls if chosen[c.elf] == c.elf)
        f.writelines('CUresult %s(%s);\n' % (name, params) for name, _, params in [FUTURE, *LATER])
        keep(out + '/driver_api.h', f.getvalue())

    with io.StringIO() as f:
        f.write('/* Generated: one thin export for each ELF symbol of the driver. */\n'
                '#include "tests/sim/driver_enter.h"\n\n')
        f.write('\n'.join(export(c, chosen[c.elf]) for c in calls))
        keep(out + '/driver_exports.c', f.getvalue())

    with io.StringIO() as f:
        f.write('/* Generated: ELF names by number; base names with versions for look-up. */\n'
                '#include "tests/sim/driver_proc.h"\n\n'
                'const char *const sim_api_name[SIM_APIS] = {\n')
        f.writelines('\t[API_%s] = "%s",\n' % (c.elf, c.elf) for c in calls)
        f.write('};\n\nconst struct proc_entry proc_table[] = {\n')
        rows = sorted(((c.base, versions[c.elf], c) for c in calls if c.elf in versions),
                      key=lambda r: (r[0], bool(r[2].suffix), r[1]))
        f.writelines('\t{"%s", API_%s, %d, %d, (void *)%s},\n'
                     % (base, c.elf, version, 1 if c.suffix else 0, c.elf)
                     for base, version, c in rows)
        f.write('};\n\nconst unsigned proc_count = %d;\n' % len(rows))
        keep(out + '/driver_table.c', f.getvalue())

    keep(out + '/driver_unsupported.txt',
         ''.join(c.elf + '\n' for c in calls if not chosen[c.elf]))


main()
