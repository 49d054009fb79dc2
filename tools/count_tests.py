"""Counts the outcome of one `bazel test`: count_tests.py BUILD_EVENTS_JSON BAZEL_EXIT_STATUS prints "PASSED FAILED",
and to stderr what failed, with the end of each log.

A target that does not build is a failure, and so is a Bazel that fails without naming one; status 4 only says that no
test matched. A test that passed only when it was run again counts as passed, and is named like a failure.
"""
import json
import sys
import urllib.parse

_LOG_LINES = 60


class Outcome:
    def __init__(self):
        self.passed, self.failed, self.flaky = set(), set(), set()
        self.logs = {}  # of attempts that failed, by label


def read_events(lines, status):
    outcome = Outcome()
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:  # Bazel died in the middle of a line
            continue
        for name, about in event["id"].items():
            label = about.get("label", "")
            if "aborted" in event and event["aborted"].get("reason") != "SKIPPED" and label:
                outcome.failed.add(label)
            elif name == "targetCompleted" and "completed" in event and not event["completed"].get("success"):
                outcome.failed.add(label)
            elif name == "testResult" and event.get("testResult", {}).get("status") != "PASSED":
                for output in event.get("testResult", {}).get("testActionOutput", []):
                    if output.get("name") == "test.log":
                        outcome.logs.setdefault(label, []).append(output.get("uri", ""))
            elif name == "testSummary":
                overall = event.get("testSummary", {}).get("overallStatus")
                (outcome.passed if overall in ("PASSED", "FLAKY") else outcome.failed).add(label)
                if overall == "FLAKY":
                    outcome.flaky.add(label)
    outcome.passed -= outcome.failed
    if status not in (0, 4) and not outcome.failed:
        outcome.failed.add("bazel")
    return outcome


def log_end(uri):
    try:
        with open(urllib.parse.unquote(urllib.parse.urlparse(uri).path), errors="replace") as log:
            return "".join(log.readlines()[-_LOG_LINES:])
    except OSError as error:
        return f"({error})\n"


def report(outcome, out):
    for label in sorted(outcome.failed | outcome.flaky):
        print(f"{'FAILED' if label in outcome.failed else 'PASSED WHEN RUN AGAIN'}: {label}", file=out)
        for uri in outcome.logs.get(label, []):
            out.write(log_end(uri))


def main():
    try:
        with open(sys.argv[1]) as events:
            lines = events.readlines()
    except OSError:
        lines = []
    outcome = read_events(lines, int(sys.argv[2]))
    report(outcome, sys.stderr)
    print(len(outcome.passed), len(outcome.failed))


if __name__ == "__main__":
    main()
