#!/usr/bin/env python3
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
import re
import sys

ROW = re.compile(r'^(CALL|ARGS|WRAP|HAND|PASS|RT12|RT)\((\w+)(?:, (\w+))?(?:, (\w+))?\)$')
RUNTIMES = [('11', 'libcudart.so.11.0'), ('12', 'libcudart.so.12'), ('13', 'libcudart.so.13')]

# Declared by crt/device_functions.h, for C++ only, since CUDA 13; libcudart 12 has it too, as cudaLaunchKernel itself.
LAUNCH_13 = ('struct CUkern_st * kernel, dim3 gridDim, dim3 blockDim, void **args, '
             'size_t sharedMem, cudaStream_t stream')


def read_rows(path):
    rows, seen = [], set()
    for number, line in enumerate(open(path), 1):
        line = line.strip()
        if not re.match(r'\w+\(', line):
            continue
        m = ROW.match(line)
        if not m:
            sys.exit(f'{path}:{number}: not a row: {line}')
        form, name, cls, note = m.groups()
        if name in seen:
            sys.exit(f'{path}:{number}: {name} stands twice')
        if (cls is None) != (form == 'PASS') or (note is None) != (form not in ('ARGS', 'WRAP')):
            sys.exit(f'{path}:{number}: wrong number of columns: {line}')
        seen.add(name)
        rows.append((form, name, cls, note))
    return rows


def read_prototypes(path, result, prefix):
    text = re.sub(r'^#.*$', '', open(path).read(), flags=re.M)
    text = re.sub(r'__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)', '', text)
    pattern = rf'\b{result}\s+({prefix}\w+)\s*\(((?:[^();]|\([^();]*\))*)\)\s*;'
    return {m[1]: ' '.join(m[2].split()) for m in re.finditer(pattern, text)}


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


def flags_of(name, note=None):
    fills = ' | SPY_FILLS' if note in ('launch', 'launch_cooperative', 'launch_ex') else ''
    return ptds_of(name) + fills


def ptds_of(name):
    return 'TF_PTDS' if re.search(r'_pt[ds][sz]$', name) else '0'


def gpu_work(call, cls, params, note):
    """(key, stream, what): how the sampler tells the class of the GPU work that this call gives to a stream, as gpu_before()
    takes it; None: it does not time such calls. Blocking calls are not timed: their own duration says as much."""
    if cls not in ('LAUNCH', 'GRAPH_LAUNCH', 'COPY', 'SET') or note == 'launch_multi':
        return None
    names = [n for _, n in params]
    streams = [n for d, n in params if d.startswith('CUstream ')]
    if note == 'launch_ex':
        config, function = names[0], names[1]
        return f'gpu_key_config({config}, {function})', f'{config} ? {config}->hStream : NULL', function
    if cls == 'LAUNCH' and note in ('launch_grid', 'launch_grid_async', 'launch_shape_set_before'):
        return '0', streams[0] if streams else 'NULL', 'NULL'
    if not streams:
        return None
    if note in ('launch', 'launch_cooperative'):
        function = names[0] if note == 'launch' else 'NULL'
        return f'gpu_key_kernel({", ".join(names[:8])})', streams[0], function
    if cls == 'GRAPH_LAUNCH':
        return f'gpu_key_graph({names[0]})', streams[0], 'NULL'
    sizes = [n for d, n in params if d.startswith('size_t ') and n in ('ByteCount', 'N', 'Width', 'size')]
    structs = {'const CUDA_MEMCPY2D *': 'gpu_bytes_2d', 'const CUDA_MEMCPY3D *': 'gpu_bytes_3d',
               'const CUDA_MEMCPY3D_PEER *': 'gpu_bytes_3d_peer', 'CUDA_MEMCPY3D_BATCH_OP *op': 'gpu_bytes_3d_op'}
    struct = [(structs[t], n) for d, n in params for t in structs if d == t + n or d == t]
    if struct:
        return f'gpu_key_bytes(CALL_{call}, {struct[0][0]}({struct[0][1]}))', streams[0], 'NULL'
    if not sizes or not note:
        return None
    bytes_ = f'{sizes[0]} * Height' if 'Height' in names else sizes[0]
    return f'gpu_key_bytes(CALL_{call}, {bytes_})', streams[0], 'NULL'


def wrapper(result, symbol, call, cls, params, real, note, before):
    declaration = ', '.join(d for d, _ in params) or 'void'
    names = ', '.join(n for _, n in params)
    comma = ', ' if names else ''
    lines = [f'SPY_EXPORT {result} {symbol}({declaration})', '{',
             f'\t__typeof__({real}) real = SPY_REAL({real}, CALL_{call});',
             '\tstruct spy_span s;',
             f'\tspy_enter(&s, CALL_{call}, SPY_CLASS_{cls}, {flags_of(call, note)});']
    if before:
        lines.append(f'\tbefore_{note}(&s{comma}{names});')
    gpu = gpu_work(call, cls, params, note) if result == 'CUresult' else None
    if gpu:
        lines += ['\tif (gpu_wanted(&s))', f'\t\tgpu_before(&s, {", ".join(gpu)});']
    if note == 'launch_multi':
        lines += ['\tif (gpu_wanted(&s))', '\t\tsampler_no_new_contexts();']
    lines += ['\tspy_real_begins();', f'\t{result} rc = real({names});', '\tspy_real_ended();']
    if note:
        lines.append(f'\targs_{note}(&s, rc{comma}{names});')
    if gpu:
        lines.append(f'\tgpu_after(&s, rc, {gpu[1]});')
    lines += [f'\tspy_leave(&s, CALL_{call}, SPY_CLASS_{cls}, rc);', '\treturn rc;', '}', '']
    return '\n'.join(lines)


def main():
    calls_def, driver_i, runtime_i, out = sys.argv[1:]
    rows = read_rows(calls_def)
    driver = read_prototypes(driver_i, 'CUresult', 'cu[A-Z]')
    runtime = read_prototypes(runtime_i, 'cudaError_t', 'cuda')
    runtime['__cudaLaunchKernel'] = runtime['__cudaLaunchKernel_ptsz'] = LAUNCH_13
    if len(driver) < 300 or len(runtime) < 150:
        sys.exit(f'gen_wrappers: only {len(driver)} driver and {len(runtime)} runtime prototypes found')
    for name in sorted(set(driver) - {r[1] for r in rows}):
        print(f'shim/core/format/calls.def has no row for {name}: calls of it go unseen', file=sys.stderr)

    drv = [r for r in rows if r[0] in ('CALL', 'ARGS', 'WRAP', 'HAND') and r[1] in driver]
    # Newest ABI first: where a driver gives two names one address, the wrapper must take the wider arguments.
    drv.sort(key=lambda r: (-int((re.search(r'_v(\d)', r[1]) or [0, 1])[1]), r[1].endswith(('sz', 'ds')), r[1]))
    rt = [r for r in rows if r[0] in ('RT', 'RT12') and r[1] in runtime]
    passed = [r for r in rows if r[0] == 'PASS']

    with open(f'{out}/calls_gen.h', 'w') as f:
        f.write('/* Generated from calls.def: call ids, and those of all launches. */\n'
                '#ifndef SPY_CALLS_GEN_H\n#define SPY_CALLS_GEN_H\n\nenum spy_call {\n')
        f.writelines(f'\tCALL_{r[1]},\n' for r in drv)
        f.write(f'\tSPY_DRIVER_CALLS,\n\tSPY_CALL_BEFORE_RUNTIME = SPY_DRIVER_CALLS - 1,\n')
        f.writelines(f'\tCALL_{r[1]},\n' for r in rt)
        launches = ', '.join(f'CALL_{r[1]}' for r in drv + rt if r[2] in ('LAUNCH', 'GRAPH_LAUNCH'))
        f.write(f'\tSPY_CALLS\n}};\n\n#define SPY_LAUNCH_CALLS {launches}\n\n#endif\n')

    with open(f'{out}/real_gen.h', 'w') as f:
        f.write('/* Generated from calls.def and NVIDIA\'s prototypes: typed pointers to the real functions. */\n'
                '#ifndef SPY_REAL_GEN_H\n#define SPY_REAL_GEN_H\n\nunion spy_driver {\n\tvoid *by_id[SPY_DRIVER_CALLS];\n\tstruct {\n')
        f.writelines(f'\t\tCUresult (*{r[1]})({driver[r[1]]});\n' for r in drv)
        f.write('\t};\n};\n\nunion spy_runtime {\n\tvoid *by_id[SPY_CALLS - SPY_DRIVER_CALLS];\n\tstruct {\n')
        f.writelines(f'\t\tcudaError_t (*{r[1]})({runtime[r[1]]});\n' for r in rt)
        f.write('\t};\n};\n\n#endif\n')

    with open(f'{out}/calls_gen.c', 'w') as f:
        f.write('/* Generated from calls.def: the table of calls. */\n#include "shim/core/format/calls.h"\n\n'
                'const struct spy_call_row spy_call_rows[SPY_CALLS] = {\n')
        f.writelines(f'\t[CALL_{r[1]}] = {{ "{r[1]}", SPY_CLASS_{r[2]}, SPY_LEVEL_DRIVER }},\n' for r in drv)
        f.writelines(f'\t[CALL_{r[1]}] = {{ "{r[1]}", SPY_CLASS_{r[2]}, SPY_LEVEL_RUNTIME }},\n' for r in rt)
        f.write('};\n\nconst char *const spy_passed[] = {\n')
        base = {re.sub(r'(_v\d)?(_pt[ds][sz])?$', '', r[1]) for r in passed}
        f.writelines(f'\t"{n}",\n' for n in sorted(base))
        f.write('};\nconst unsigned spy_passed_count = sizeof(spy_passed) / sizeof(spy_passed[0]);\n')

    with open(f'{out}/wrappers_driver.c', 'w') as f:
        f.write('/* Generated from calls.def and cuda.h: one wrapper for each driver call. */\n'
                '#include "shim/hook/wrapper.h"\n\n')
        for form, name, cls, note in drv:
            if form == 'HAND':
                continue
            f.write(wrapper('CUresult', name, name, cls, split_parameters(driver[name]),
                            f'spy_driver.{name}', note, form == 'WRAP') + '\n')
        f.write('/* Our own addresses, which no other library can replace. */\n')
        f.writelines(f'extern __typeof__({r[1]}) own_{r[1]} __attribute__((alias("{r[1]}"), '
                     'visibility("hidden")));\n' for r in drv if r[0] != 'HAND')
        f.writelines(f'extern __typeof__({r[1]}) own_{r[1]} __attribute__((visibility("hidden")));\n'
                     for r in drv if r[0] == 'HAND')
        f.write('\nvoid *const spy_wrappers[SPY_DRIVER_CALLS] = {\n')
        f.writelines(f'\t[CALL_{r[1]}] = (void *)own_{r[1]},\n' for r in drv)
        f.write('};\n')

    with open(f'{out}/wrappers_runtime.c', 'w') as f:
        f.write('/* Generated from calls.def and cuda_runtime_api.h: one wrapper a runtime call and runtime version. */\n'
                '#include "shim/hook/wrapper.h"\n\n')
        for index, (short, node) in enumerate(RUNTIMES):
            for form, name, cls, _ in rt:
                if form == 'RT12' and short == '11':
                    continue
                symbol = f'rt{short}_{name}'
                at = '@@' if short == '13' else '@'
                params = split_parameters(runtime[name])
                declaration = ', '.join(d for d, _ in params) or 'void'
                f.write(f'SPY_EXPORT cudaError_t {symbol}({declaration});\n')
                f.write(wrapper('cudaError_t', symbol, name, cls, params,
                                f'spy_runtime[{index}].{name}', None, False))
                f.write(f'__asm__(".symver {symbol},{name}{at}{node}");\n\n')

    with open(f'{out}/exports.txt', 'w') as f:
        f.writelines(f'{r[1]}\n' for r in drv)
        f.writelines(f'{r[1]}@{node}\n' for r in rt for short, node in RUNTIMES
                     if r[0] == 'RT' or short != '11')


main()
