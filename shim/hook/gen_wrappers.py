#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the wrappers of every row of calls.def from NVIDIA's own prototypes.

usage: gen_wrappers.py CALLS_DEF DRIVER_I RUNTIME_I OUT_DIR

DRIVER_I is cuda.h preprocessed with __CUDA_API_VERSION_INTERNAL, so that it declares every ELF symbol; RUNTIME_I holds
cuda_runtime_api.h preprocessed twice, the second time with per-thread default streams. Writes

  calls_gen.h         call ids, and those of all launches
  real_gen.h          typed pointers to the real functions
  calls_gen.c         the table: name, class, level, wrapper
  wrappers_driver.c   one plain function a driver call
  wrappers_runtime.c  three a runtime call: one for each libcudart it may have to forward to
"""
import os
import re
import sys

ROW = re.compile(r'^(CALL|ARGS|WRAP|HAND|PASS|RT12|RT)\((.*)\)$')
# By form: the columns behind the name.
COLUMNS = {'PASS': [], 'ARGS': ['class', 'what', 'role'], 'WRAP': ['class', 'what', 'role'],
           **{form: ['class', 'role'] for form in ('CALL', 'HAND', 'RT', 'RT12')}}
WORK = ('LAUNCH', 'GRAPH_LAUNCH', 'COPY', 'SET')
# By column SAMPLED of a copy or set: the function that takes its bytes from what parameter p describes.
ROWS = {'ROWS_2D': 'sampler_bytes_2d', 'ROWS_3D': 'sampler_bytes_3d', 'ROWS_3D_PEER': 'sampler_bytes_3d_peer',
        'ROWS_3D_OP': 'sampler_bytes_3d_op'}
SAMPLED = re.compile(r'NOTHING|FIRST|KERNEL|COOPERATIVE|CONFIG|GRAPH|(BYTES|%s)\((\w+(?: \* \w+)?)\)' % '|'.join(ROWS))
ROLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../core/cuda/roles.h')
RUNTIMES = [('11', 'libcudart.so.11.0'), ('12', 'libcudart.so.12'), ('13', 'libcudart.so.13')]

# Declared by crt/device_functions.h, for C++ only, since CUDA 13; libcudart 12 has it too, as cudaLaunchKernel itself.
LAUNCH_13 = ('struct CUkern_st * kernel, dim3 gridDim, dim3 blockDim, void **args, '
             'size_t sharedMem, cudaStream_t stream')


class Row:
    """A row of calls.def; a column that it does not have is None."""

    def __init__(self, form, name, columns):
        self.form, self.name, self.columns = form, name, columns
        self.cls, self.what, self.role = (columns.get(k) for k in ('class', 'what', 'role'))
        self.sampled = columns.get('sampled')


def read_roles(path):
    """The names that column ROLE may have: enum cuda_role."""
    return set(re.findall(r'^\tCUDA_ROLE_(\w+),', open(path).read(), flags=re.M))


def read_rows(path, roles):
    rows, seen = [], set()
    for number, line in enumerate(open(path), 1):
        line = line.strip()
        if not re.match(r'\w+\(', line):
            continue
        m = ROW.match(line)
        if not m:
            sys.exit(f'{path}:{number}: not a row: {line}')
        form, (name, *cells) = m[1], m[2].split(', ')
        names = list(COLUMNS[form])
        if form in ('CALL', 'ARGS', 'WRAP', 'HAND') and cells and cells[0] in WORK:
            names.append('sampled')
        if len(cells) != len(names):
            sys.exit(f'{path}:{number}: wrong number of columns: {line}; there must be: name, {", ".join(names)}')
        if name in seen:
            sys.exit(f'{path}:{number}: {name} stands twice')
        row = Row(form, name, dict(zip(names, cells)))
        if row.role and row.role not in roles:
            sys.exit(f'{path}:{number}: no role of shim/core/cuda/roles.h: {row.role}')
        if row.sampled and not SAMPLED.fullmatch(row.sampled):
            sys.exit(f'{path}:{number}: not a way to sample: {row.sampled}')
        seen.add(name)
        rows.append(row)
    return rows


def read_prototypes(path, result, prefix):
    text = re.sub(r'^#.*$', '', open(path).read(), flags=re.M)
    text = re.sub(r'__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)', '', text)
    pattern = rf'\b{result}\s+({prefix}\w+)\s*\(((?:[^();]|\([^();]*\))*)\)\s*;'
    return {m[1]: ' '.join(m[2].split()) for m in re.finditer(pattern, text)}


def with_per_thread_forms(rows, declared):
    """Each row, and behind it the same for its form with per-thread default streams, if one is declared."""
    for row in rows:
        yield row
        for form in (f'{row.name}_ptsz', f'{row.name}_ptds'):
            if form in declared:
                yield Row(row.form, form, row.columns)


def split_parameters(text):
    """The (declaration, name) of each parameter."""
    if text.strip() in ('void', ''):
        return []
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text + ','):
        depth += (c == '(') - (c == ')')
        if c == ',' and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    out = []
    for p in parts:
        m = re.search(r'(\w+)\s*(\[\w*\])?$', p)
        out.append((p, m[1]))
    return out


def flags_of(name, what=None):
    fills = ' | SPY_FILLS' if what in ('launch', 'launch_cooperative', 'launch_ex') else ''
    return ptds_of(name) + fills


def ptds_of(name):
    return 'TF_PTDS' if re.search(r'_pt[ds][sz]$', name) else '0'


def gpu_work(row, params):
    """(key, stream, what): how the sampler tells the class of the GPU work that this call gives to a stream, as sampler_before()
    takes it, by column SAMPLED; None: it does not time such calls."""
    if row.sampled in (None, 'NOTHING'):
        return None
    names = [n for _, n in params]
    stream = next((n for d, n in params if d.startswith('CUstream ')), 'NULL')
    if row.sampled == 'FIRST':
        return '0', stream, 'NULL'
    if row.sampled == 'CONFIG':
        config, function = names[0], names[1]
        return f'sampler_key_config({config}, {function})', f'{config} ? {config}->hStream : NULL', function
    if row.sampled in ('KERNEL', 'COOPERATIVE'):
        function = names[0] if row.sampled == 'KERNEL' else 'NULL'
        return f'sampler_key_kernel({", ".join(names[:8])})', stream, function
    if row.sampled == 'GRAPH':
        return f'sampler_key_graph({names[0]})', stream, 'NULL'
    how, what = SAMPLED.fullmatch(row.sampled).groups()
    bytes_ = what if how == 'BYTES' else f'{ROWS[how]}({what})'
    return f'sampler_key_bytes(CALL_{row.name}, {bytes_})', stream, 'NULL'


def wrapper(result, symbol, row, params, real):
    declaration = ', '.join(d for d, _ in params) or 'void'
    names = ', '.join(n for _, n in params)
    comma = ', ' if names else ''
    call, cls, what = row.name, row.cls, row.what
    lines = [f'SPY_EXPORT {result} {symbol}({declaration})', '{',
             f'\t__typeof__({real}) real = SPY_REAL({real}, CALL_{call});',
             '\tstruct spy_span s;',
             f'\tspy_enter(&s, CALL_{call}, SPY_CLASS_{cls}, {flags_of(call, what)});']
    if row.form == 'WRAP':
        lines.append(f'\tbefore_{what}(&s{comma}{names});')
    gpu = gpu_work(row, params)
    if gpu:
        lines += ['\tif (sampler_wanted(&s))', f'\t\tsampler_before(&s, {", ".join(gpu)});']
    if what == 'launch_multi':
        lines += ['\tif (sampler_wanted(&s))', '\t\tsampler_no_new_contexts();']
    lines += ['\tspy_real_begins();', f'\t{result} rc = real({names});', '\tspy_real_ended(&s);']
    if what:
        lines.append(f'\targs_{what}(&s, rc{comma}{names});')
    if gpu:
        lines.append(f'\tsampler_after(&s, rc, {gpu[1]});')
    lines += [f'\tspy_leave(&s, CALL_{call}, SPY_CLASS_{cls}, rc);', '\treturn rc;', '}', '']
    return '\n'.join(lines)


def main():
    calls_def, driver_i, runtime_i, out = sys.argv[1:]
    rows = read_rows(calls_def, read_roles(ROLES))
    driver = read_prototypes(driver_i, 'CUresult', 'cu[A-Z]')
    runtime = read_prototypes(runtime_i, 'cudaError_t', 'cuda')
    runtime['__cudaLaunchKernel'] = runtime['__cudaLaunchKernel_ptsz'] = LAUNCH_13
    if len(driver) < 300 or len(runtime) < 150:
        sys.exit(f'gen_wrappers: only {len(driver)} driver and {len(runtime)} runtime prototypes found')
    rows = list(with_per_thread_forms(rows, {**driver, **runtime}))
    for name in sorted(set(driver) - {r.name for r in rows}):
        print(f'shim/core/format/calls.def has no row for {name}: calls of it go unseen', file=sys.stderr)

    drv = [r for r in rows if r.form in ('CALL', 'ARGS', 'WRAP', 'HAND') and r.name in driver]
    # Newest ABI first: where a driver gives two names one address, the wrapper must take the wider arguments.
    drv.sort(key=lambda r: (-int((re.search(r'_v(\d)', r.name) or [0, 1])[1]), r.name.endswith(('sz', 'ds')), r.name))
    rt = [r for r in rows if r.form in ('RT', 'RT12') and r.name in runtime]
    passed = [r for r in rows if r.form == 'PASS']

    with open(f'{out}/calls_gen.h', 'w') as f:
        f.write('/* Generated from calls.def: call ids, and those of all launches. */\n'
                '#ifndef SPY_CALLS_GEN_H\n#define SPY_CALLS_GEN_H\n\nenum spy_call {\n')
        f.writelines(f'\tCALL_{r.name},\n' for r in drv)
        f.write('\tSPY_DRIVER_CALLS,\n\tSPY_CALL_BEFORE_RUNTIME = SPY_DRIVER_CALLS - 1,\n')
        f.writelines(f'\tCALL_{r.name},\n' for r in rt)
        launches = ', '.join(f'CALL_{r.name}' for r in drv + rt if r.cls in ('LAUNCH', 'GRAPH_LAUNCH'))
        f.write(f'\tSPY_CALLS\n}};\n\n#define SPY_LAUNCH_CALLS {launches}\n\n#endif\n')

    with open(f'{out}/real_gen.h', 'w') as f:
        f.write('/* Generated from calls.def and NVIDIA\'s prototypes: typed pointers to the real functions. */\n'
                '#ifndef SPY_REAL_GEN_H\n#define SPY_REAL_GEN_H\n\nunion spy_driver {\n\tvoid *by_id[SPY_DRIVER_CALLS];\n\tstruct {\n')
        f.writelines(f'\t\tCUresult (*{r.name})({driver[r.name]});\n' for r in drv)
        f.write('\t};\n};\n\nunion spy_runtime {\n\tvoid *by_id[SPY_CALLS - SPY_DRIVER_CALLS];\n\tstruct {\n')
        f.writelines(f'\t\tcudaError_t (*{r.name})({runtime[r.name]});\n' for r in rt)
        f.write('\t};\n};\n\n#endif\n')

    with open(f'{out}/calls_gen.c', 'w') as f:
        f.write('/* Generated from calls.def: the table of calls. */\n#include "shim/core/format/calls.h"\n\n'
                'const struct spy_call_row spy_call_rows[SPY_CALLS] = {\n')
        f.writelines(f'\t[CALL_{r.name}] = {{ "{r.name}", SPY_CLASS_{r.cls}, SPY_LEVEL_DRIVER }},\n' for r in drv)
        f.writelines(f'\t[CALL_{r.name}] = {{ "{r.name}", SPY_CLASS_{r.cls}, SPY_LEVEL_RUNTIME }},\n' for r in rt)
        f.write('};\n\nconst char *const spy_passed[] = {\n')
        base = {re.sub(r'(_v\d)?(_pt[ds][sz])?$', '', r.name) for r in passed}
        f.writelines(f'\t"{n}",\n' for n in sorted(base))
        f.write('};\nconst unsigned spy_passed_count = sizeof(spy_passed) / sizeof(spy_passed[0]);\n')

    with open(f'{out}/wrappers_driver.c', 'w') as f:
        f.write('/* Generated from calls.def and cuda.h: one wrapper for each driver call. */\n'
                '#include "shim/hook/wrapper.h"\n\n')
        for r in drv:
            if r.form != 'HAND':
                f.write(wrapper('CUresult', r.name, r, split_parameters(driver[r.name]), f'spy_driver.{r.name}') + '\n')
        f.write('/* Our own addresses, which no other library can replace. */\n')
        f.writelines(f'extern __typeof__({r.name}) own_{r.name} __attribute__((alias("{r.name}"), '
                     'visibility("hidden")));\n' for r in drv if r.form != 'HAND')
        f.writelines(f'extern __typeof__({r.name}) own_{r.name} __attribute__((visibility("hidden")));\n'
                     for r in drv if r.form == 'HAND')
        f.write('\nvoid *const spy_wrappers[SPY_DRIVER_CALLS] = {\n')
        f.writelines(f'\t[CALL_{r.name}] = (void *)own_{r.name},\n' for r in drv)
        f.write('};\n')

    with open(f'{out}/wrappers_runtime.c', 'w') as f:
        f.write('/* Generated from calls.def and cuda_runtime_api.h: one wrapper a runtime call and runtime version. */\n'
                '#include "shim/hook/wrapper.h"\n\n')
        for index, (short, node) in enumerate(RUNTIMES):
            for r in rt:
                if r.form == 'RT12' and short == '11':
                    continue
                symbol = f'rt{short}_{r.name}'
                at = '@@' if short == '13' else '@'
                params = split_parameters(runtime[r.name])
                declaration = ', '.join(d for d, _ in params) or 'void'
                f.write(f'SPY_EXPORT cudaError_t {symbol}({declaration});\n')
                f.write(wrapper('cudaError_t', symbol, r, params, f'spy_runtime[{index}].{r.name}'))
                f.write(f'__asm__(".symver {symbol},{r.name}{at}{node}");\n\n')

    with open(f'{out}/exports.txt', 'w') as f:
        f.writelines(f'{r.name}\n' for r in drv)
        f.writelines(f'{r.name}@{node}\n' for r in rt for short, node in RUNTIMES
                     if r.form == 'RT' or short != '11')


main()
