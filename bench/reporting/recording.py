# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""What threads and the drain pay: in bursts, at worst, going on, and with more of everything."""

import dataclasses
import sys

from reporting.rows import Row, google_benchmark, growth, lines_of, median, medians

THREADS = (1, 2, 4, 16)
SCOPES_OF_ALL = 200_000  # in a latency row


def recording(folder, runs):
    rows = google_benchmark(f"{folder}/recording_benchmark", runs)
    floor = median(rows, "Floor", "real_time")
    empty = median(rows, "EmptyLoop", "real_time")
    yield Row("floor: two clock readings and a 32-byte store", f"{floor:.1f} ns")
    for name, text in (("Scope", "scope, on"), ("OpScope", "op scope, on"), ("DynamicNameHit", "scope with a dynamic name"),
                       ("Moodycamel", "ConcurrentQueue per event"),
                       ("MutexVector", "mutex and vector per event")):
        time = median(rows, name, "real_time")
        yield Row(text, f"{time:.1f} ns", f"{time / floor:.2f} x floor", time / floor)
    scope = median(rows, "Scope", "real_time")
    for name, text, beside in (("ScopeInCrashFile", "scope, on, in a crash file", "in memory"),
                               ("ScopeDropping", "scope, dropped and counted", "a recorded one")):
        time = median(rows, name, "real_time")
        yield Row(text, f"{time:.1f} ns", f"{time / scope:.2f} x {beside}", time / scope)
    off = median(rows, "ScopeOff", "real_time")
    yield Row("scope, off", f"{off:.2f} ns", f"{off - empty:+.2f} ns over an empty loop", off - empty)


def latency(folder, runs):
    def row(case, text, threads, base):
        result = medians(f"{folder}/latency", runs, case, threads, SCOPES_OF_ALL // threads)
        ns = max(0.0, result["ns"] - base)
        many = "" if threads == 1 else f", {threads} threads"
        return Row(f"{text}{many}", f"{ns:.1f} ns",
                   f"p50 {result['p50']:.0f}, p99 {result['p99']:.0f}, p99.9 {result['p99.9']:.0f}, max {result['max']:.0f} ns"
                   + (f"; {result['lost_%']:.1f} % lost, counted" if result["lost_%"] else ""), ns)

    empty = row("nothing", "latency: nothing, a call and two clock readings", 1, 0)
    yield empty
    alone = None
    for threads in THREADS:
        made = row("scope", "latency: scope", threads, empty.measure)
        alone = alone or max(made.measure, 0.1)
        # Each thread's processor time: what another one does costs it nothing.
        yield dataclasses.replace(made, beside=f"{made.measure / alone:.2f} x one thread; {made.beside}",
                                  measure=made.measure / alone)
    for case, text in (("op", "op scope"), ("shapes", "op scope with the shapes of two tensors"), ("off", "scope, off")):
        yield row(case, f"latency: {text}", 1, empty.measure)
    for threads in (1, 4):
        for case, text in (("dropping", "scope, every chunk taken"), ("drop", "scope, pool of 2 MiB, policy drop"),
                           ("block", "the same, policy block"), ("grow", "the same, policy grow")):
            yield row(case, f"latency: {text}", threads, empty.measure)


def drain(folder, runs):
    rows = google_benchmark(f"{folder}/drain_benchmark", runs)
    for name, text in (("Plain", "drain alone: scopes to FunctionEvents"), ("Linked", "the same, every event linked")):
        rate = median(rows, name, "items_per_second")
        size = median(rows, name, "event_bytes")
        yield Row(text, f"{rate / 1e6:.1f} M events/s", f"{1e9 / rate:.1f} ns an event of {size:.0f} bytes", 1e9 / rate)


def sustained(folder, runs, seconds):
    for rate, text in ((20, "sustained, paced at 20 M linked events/s"), (0, "sustained, unpaced")):
        results = [lines_of(f"{folder}/sustained", rate, seconds)[0] for _ in range(runs)]
        results.sort(key=lambda result: float(result["finished_M/s"]))
        middle = results[len(results) // 2]
        if any(result["exact"] != "yes" for result in results):
            sys.exit(f"lost uncounted: {results}")
        yield Row(text, f"{middle['finished_M/s']} M events/s", f"{middle['lost_%']} % lost, counted",
                  float(middle["finished_M/s"]))


def scaling(folder, largest_run):
    for axis, of, largest in (("threads", "threads", 0), ("depth", "scopes open", 0), ("names", "distinct dynamic names", 0),
                              ("links", "forward ops that wait for their backward op", 0),
                              ("events", "events streamed", largest_run)):
        lines = lines_of(f"{folder}/scaling", axis, *([largest] if largest else []))
        sizes = [int(line["size"]) for line in lines]
        for unit, text in (("ns/scope", "a scope"), ("ns/event", "its event in the drain")):
            costs = [float(line[unit]) for line in lines]
            steps = ", ".join(f"{size:,}: {cost:.0f}" for size, cost in zip(sizes, costs))
            # With threads the whole cost is that of all of them.
            yield Row(f"growth with {of}: {text}", f"{costs[0]:.0f} -> {costs[-1]:.0f} ns",
                      f"whole cost ~ n^{growth(sizes, costs):.2f}; {steps} ns", growth(sizes, costs))
        if axis == "events":
            grown = float(lines[-1]["grown_bytes"])
            yield Row(f"memory grown over {sizes[-1]:,} events streamed", f"{grown / 2**20:.2f} MiB", "", grown / 2**20)


def session(folder, runs):
    cost = medians(f"{folder}/session_cost", runs)
    yield Row("session: start", f"{cost['start_us'] / 1e3:.2f} ms",
              f"the process's first one {cost['first_start_us'] / 1e3:.2f} ms; {cost['session_KiB']:.0f} KiB")
    yield Row("session: stop", f"{cost['stop_us'] / 1e3:.2f} ms",
              f"{cost['stop_after_a_million_ms']:.0f} ms right after a million scopes, all delivered")
    yield Row("memory of a thread that records", f"{cost['thread_KiB']:.1f} KiB", "measured over 256 threads")
    yield Row("memory of a million events kept in the process", f"{cost['million_events_MiB']:.0f} MiB",
              f"{cost['lost']:.0f} lost")
