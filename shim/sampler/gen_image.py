#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the sampler's kernels as C: the PTX text, and code for the GPUs that this toolkit's assembler knows.

usage: gen_image.py PTX OUT_C [CUDA_BIN]

Without ptxas and fatbinary in CUDA_BIN only the text is there, and the driver translates it (some 90 ms, once a process).
"""
import os
import subprocess
import sys
import tempfile

MAJORS = ['75', '80', '90', '100', '110', '120']  # code for one runs on every later GPU of its major version


def fat_binary(ptx, tools):
    with tempfile.TemporaryDirectory() as folder:
        images = []
        for sm in MAJORS:
            cubin = f'{folder}/{sm}.cubin'
            done = subprocess.run([f'{tools}/ptxas', f'-arch=sm_{sm}', ptx, '-o', cubin], capture_output=True)
            if done.returncode == 0:
                images.append(f'--image3=kind=elf,sm={sm},file={cubin}')
        fat = f'{folder}/fat'
        if not images or subprocess.run([f'{tools}/fatbinary', '-64', f'--create={fat}', *images],
                                        capture_output=True).returncode:
            return b''
        return open(fat, 'rb').read()


def array(name, data):
    rows = [', '.join(f'{b}' for b in data[i:i + 24]) for i in range(0, len(data), 24)]
    return f'const unsigned char {name}[] __attribute__((aligned(16))) = {{\n\t' + ',\n\t'.join(rows) + '\n};\n'


def main():
    ptx, out = sys.argv[1:3]
    tools = sys.argv[3] if len(sys.argv) > 3 else ''
    have = tools and all(os.access(f'{tools}/{t}', os.X_OK) for t in ('ptxas', 'fatbinary'))
    code = fat_binary(ptx, tools) if have else b''
    with open(out, 'w') as f:
        f.write('/* Generated from sampler.ptx. */\n#include "shim/sampler/sampler_image.h"\n\n')
        f.write(array('sampler_ptx', open(ptx, 'rb').read() + b'\0'))
        f.write(array('sampler_code', code or b'\0'))
        f.write(f'const unsigned sampler_code_bytes = {len(code)};\n')


main()
