"""Counts the outcome of one `bazel test`: count_tests.py BUILD_EVENTS_JSON BAZEL_EXIT_STATUS prints "PASSED FAILED",
and to stderr what failed, with the end of each log; then what the tests that passed have left out, with the reasons
(GoogleTest's and unittest's skips), and the lines of their logs that begin with "FIGURE: ", each once.

A target that does not build is a failure, and so is a Bazel that fails without naming one; status 4 only says that no
test matched. A test that passed only when it was run again counts as passed, and is named like a failure.
"""
import json
import re
import sys
import urllib.parse

_LOG_LINES = 60
_FIGURE = "FIGURE: "
# GoogleTest: the place of a GTEST_SKIP, and the end of the test, where there is a time that the list at the end has not.
_SKIP_PLACE = re.compile(r"(?:^|\S):\d+: Skipped$")
_SKIPPED = re.compile(r"\[  SKIPPED \] (\S+) \(\d+ ms\)$")
# unittest: with reasons where it is asked to name each test.
_PYTHON_SKIPPED = re.compile(r"(?:(\w+) \(.*)?\.\.\. skipped (['\"])(.*)\2$")
_PYTHON_COUNT = re.compile(r"OK \(.*skipped=(\d+)")


class Outcome:
    def __init__(self):
        self.passed, self.failed, self.flaky = set(), set(), set()
        self.logs = {}  # of attempts that failed, by label
        self.passed_logs = {}  # of those that passed


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
            elif name == "testResult":
                result = event.get("testResult", {})
                logs = outcome.passed_logs if result.get("status") == "PASSED" else outcome.logs
                for output in result.get("testActionOutput", []):
                    if output.get("name") == "test.log":
                        logs.setdefault(label, []).append(output.get("uri", ""))
            elif name == "testSummary":
                overall = event.get("testSummary", {}).get("overallStatus")
                (outcome.passed if overall in ("PASSED", "FLAKY") else outcome.failed).add(label)
                if overall == "FLAKY":
                    outcome.flaky.add(label)
    outcome.passed -= outcome.failed
    if status not in (0, 4) and not outcome.failed:
        outcome.failed.add("bazel")
    return outcome


def read_log(uri):
    try:
        with open(urllib.parse.unquote(urllib.parse.urlparse(uri).path), errors="replace") as log:
            return log.readlines()
    except OSError as error:
        return [f"({error})\n"]


def skips(lines):
    """What a log says was left out: "TEST: REASON"."""
    found, reason, python, count = [], None, 0, 0
    for line in map(str.rstrip, lines):
        if line.startswith("[ RUN "):
            reason = None
        elif _SKIP_PLACE.search(line):
            reason = []
        elif match := _SKIPPED.match(line):
            found.append(f"{match[1]}: {' '.join(reason or []) or 'no reason given'}")
            reason = None
        elif match := _PYTHON_SKIPPED.search(line):
            python += 1
            found.append(f"{match[1]}: {match[3]}" if match[1] else match[3])
        elif match := _PYTHON_COUNT.match(line):
            count += int(match[1])
        elif reason is not None and line:
            reason.append(line.strip())
    if count > python:
        found.append(f"{count - python} tests, no reason in the log")
    return found


def figures(lines):
    return [line.rstrip()[len(_FIGURE):] for line in lines if line.startswith(_FIGURE)]


def report(outcome, out):
    for label in sorted(outcome.failed | outcome.flaky):
        print(f"{'FAILED' if label in outcome.failed else 'PASSED WHEN RUN AGAIN'}: {label}", file=out)
        for uri in outcome.logs.get(label, []):
            out.writelines(read_log(uri)[-_LOG_LINES:])


def report_passed(outcome, out):
    logs = [(label, read_log(uri)) for label in sorted(outcome.passed) for uri in outcome.passed_logs.get(label, [])]
    said = [f"SKIPPED: {label}: {skip}" for label, lines in logs for skip in skips(lines)]
    said += [f"{_FIGURE}{label}: {figure}" for label, lines in logs for figure in figures(lines)]
    for line in dict.fromkeys(said):
        print(line, file=out)


def main():
    try:
        with open(sys.argv[1]) as events:
            lines = events.readlines()
    except OSError:
        lines = []
    outcome = read_events(lines, int(sys.argv[2]))
    report(outcome, sys.stderr)
    report_passed(outcome, sys.stderr)
    print(len(outcome.passed), len(outcome.failed))


if __name__ == "__main__":
    main()
