# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""A Python program that records through the C interface, in several processes that all have one environment.

    python3 family.py LIBFERRET spawn|subprocess|fork|silent CHILDREN

Each process records scopes that say who it is: `parent` ten times before and ten times after its children have run,
`child N` N+1 times. CHILDREN of them run at the same time, then CHILDREN one after the other.
"""
import ctypes
import multiprocessing
import os
import subprocess
import sys


class Scope(ctypes.Structure):
    _fields_ = [("word", ctypes.c_uint64)]


def record(library_path, name, times):
    library = ctypes.CDLL(library_path)
    library.ferret_scope_begin.restype = Scope
    library.ferret_scope_begin.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.ferret_scope_end.argtypes = [Scope]
    for _ in range(times):
        library.ferret_scope_end(library.ferret_scope_begin(name.encode(), len(name.encode())))


def child(library_path, number):
    record(library_path, f"child {number}", number + 1)


def start_process(context, library_path, number):
    process = context.Process(target=child, args=(library_path, number))
    process.start()
    return process.join


def start_program(library_path, number):
    return subprocess.Popen([sys.executable, __file__, library_path, "child", str(number)]).wait


def start_fork(library_path, number):
    """A forked child that leaves at once or, every second one, as a program that ends does."""
    pid = os.fork()
    if pid == 0:
        child(library_path, number)
        if number % 2 == 0:
            os._exit(0)
        sys.exit(0)
    return lambda: os.waitpid(pid, 0)


def main(library_path, how, count):
    if how == "child":
        return child(library_path, count)
    if how == "silent":
        return record(library_path, "never", 0)
    start = {
        "spawn": lambda number: start_process(multiprocessing.get_context("spawn"), library_path, number),
        "subprocess": lambda number: start_program(library_path, number),
        "fork": lambda number: start_fork(library_path, number),
        "multiprocessing fork": lambda number: start_process(multiprocessing.get_context("fork"), library_path, number),
    }[how]
    record(library_path, "parent", 10)
    for wait in [start(number) for number in range(count)]:
        wait()
    for number in range(count, 2 * count):
        start(number)()
    record(library_path, "parent", 10)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
