"""Prints interpreter, folder and version, a line each, if the Python that runs it has PyTorch 2.x; else fails.

Importing torch takes seconds; where it lies and its version.py are enough.
"""
import importlib.util
import os
import re
import sys

spec = importlib.util.find_spec("torch")
if not spec or not spec.submodule_search_locations:
    sys.exit(1)
folder = os.path.realpath(list(spec.submodule_search_locations)[0])
version_file = os.path.join(folder, "version.py")
if not os.path.isfile(version_file):  # also the sign of an installation that was cut short
    sys.exit(1)
with open(version_file) as f:
    version = re.search(r"^__version__ = '(2\.[0-9.]*[0-9])", f.read(), re.MULTILINE)
if not version or not os.path.isdir(os.path.join(folder, "include", "ATen")):
    sys.exit(1)
print(sys.executable, folder, version.group(1), sep="\n")
