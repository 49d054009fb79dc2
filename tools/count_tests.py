"""Counts the outcome of one `bazel test`: count_tests.py BUILD_EVENTS_JSON BAZEL_EXIT_STATUS prints "PASSED FAILED".

A target that does not build is a failure, and so is a Bazel that fails without naming one; status 4 only says that no
test matched.
"""
import json
import sys


def count(lines, status):
    passed, failed = set(), set()
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:  # Bazel died in the middle of a line
            continue
        for name, about in event["id"].items():
            label = about.get("label", "")
            if "aborted" in event and event["aborted"].get("reason") != "SKIPPED" and label:
                failed.add(label)
            elif name == "targetCompleted" and "completed" in event and not event["completed"].get("success"):
                failed.add(label)
            elif name == "testSummary":
                ok = event.get("testSummary", {}).get("overallStatus") in ("PASSED", "FLAKY")
                (passed if ok else failed).add(label)
    if status not in (0, 4) and not failed:
        failed.add("bazel")
    return len(passed - failed), len(failed)


if __name__ == "__main__":
    try:
        with open(sys.argv[1]) as events:
            lines = events.readlines()
    except OSError:
        lines = []
    print(*count(lines, int(sys.argv[2])))
