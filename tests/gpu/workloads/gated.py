# SPDX-License-Identifier: Apache-2.0
"""gated.py SCRIPT [ARGUMENT...]: runs a program that uses PyTorch, with PyTorch imported before it is the program's turn."""
import os
import runpy
import sys

import common

common.require("torch")
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
