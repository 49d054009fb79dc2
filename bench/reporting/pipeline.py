# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""A whole session: recorded, built, exported, all at once."""

import sys

from reporting.rows import Row, lines_of


def _run(folder, *arguments):
    line = lines_of(f"{folder}/pipeline", *arguments)[0]
    if line["exact"] != "yes":
        sys.exit(f"lost uncounted: {line}")
    return {name: float(value) for name, value in line.items() if name != "exact"}


def _middle(folder, runs, *arguments):
    """The run whose rate is the median's, and the most that any run lost."""
    results = sorted((_run(folder, *arguments) for _ in range(runs)), key=lambda result: result["finished_M/s"])
    return results[len(results) // 2], max(result["lost_%"] for result in results)


def pipeline(folder, runs, seconds):
    for rate in (20, 30):
        paced, most_lost = _middle(folder, runs, "--rate", rate, "--seconds", seconds)
        yield Row(f"pipeline with the table, paced at {rate} M scopes/s: lost", f"{paced['lost_%']:.3f} %",
                  f"at most {most_lost:.3f} %; {paced['finished_M/s']:.1f} M events/s in the table; "
                  f"memory grew by {paced['growth_MiB']:.1f} MiB", most_lost)
        yield Row(f"pipeline with the table, paced at {rate} M scopes/s: a scope", f"{paced['ns/scope']:.1f} ns",
                  f"{paced['x_floor']:.2f} x floor", paced["x_floor"])
    for kind, text in (("plain", ""), ("linked", ", every event linked")):
        fast, _ = _middle(folder, runs, "--kind", kind, "--rate", 0, "--seconds", seconds)
        yield Row(f"pipeline with the table, unpaced{text}", f"{fast['finished_M/s']:.1f} M events/s",
                  f"{fast['offered_M/s']:.1f} offered, {fast['lost_%']:.1f} % lost, counted; {fast['x_floor']:.2f} x floor a scope",
                  fast["finished_M/s"])


def long_run(folder, scopes):
    run = _run(folder, "--rate", 20, "--scopes", scopes)
    yield Row(f"stop of a session of {scopes:,} scopes", f"{run['stop_s']:.3f} s",
              f"{run['lost_%']:.3f} % lost, counted; memory grew by {run['growth_MiB']:.1f} MiB after a tenth", run["stop_s"])
    run = _run(folder, "--rate", 4, "--scopes", scopes, "--otlp", "every=100")
    yield Row(f"memory grown in scopes to the table and sampled to OTLP, {scopes:,}", f"{run['growth_MiB']:.1f} MiB",
              f"after a tenth; {run['seconds']:.0f} s, {run['rss_MiB']:.0f} MiB in all, {run['lost_%']:.3f} % lost to the table, "
              "sums exact", run["growth_MiB"])
    run = _run(folder, "--rate", 20, "--scopes", scopes, "--window", 100)
    yield Row(f"memory grown in scopes of which windows are recorded, {scopes:,}", f"{run['growth_MiB']:.1f} MiB",
              f"after a tenth; {run['seconds']:.0f} s, one step in 100 to the table and a gzipped Chrome trace, "
              f"{run['lost_%']:.3f} % lost, sums exact", run["growth_MiB"])
