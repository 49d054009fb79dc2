# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Whole programs whose receivers misbehave: they end in time, lose nothing uncounted, and are not touched otherwise.

    fault_process_test.py RUN_STEPS FERRET LIBFERRET
"""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent import futures

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as trace_grpc

from otlp_messages import attributes
from receiver import Receiver

RUN_STEPS = FERRET = LIBFERRET = None
# The promise is FERRET_STOP_DEADLINE; what a loaded machine may add to it is far from for ever.
SLACK = 60


def environment(exporters, **variables):
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "FERRET_"))}
    # Where libferret_otlp_grpc.so is: the program is not beside it.
    return {**clean, "LD_LIBRARY_PATH": os.getcwd(), "FERRET_STOP_DEADLINE": "5m", "FERRET_EXPORT": ",".join(exporters),
            **variables}


def run(how, steps, scopes, *exporters, **variables):
    """(standard output, standard error) of a program that must succeed."""
    result = subprocess.run([RUN_STEPS, how, str(steps), str(scopes)], env=environment(exporters, **variables),
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            timeout=200, check=False)
    assert result.returncode == 0, (result.returncode, result.stderr)
    return result.stdout, result.stderr


def lost_spans(errors):
    return sum(int(digits.replace(",", "")) for digits in
               re.findall(r"\(([\d,]+) spans?[^)]*\) could not be delivered", errors))


def sent_spans(spans):
    (record,) = [span for span in spans if span.name == "Ferret Record"]
    return attributes(record)["ferret.spans.sent"]


class Listening:
    """A socket that lets clients connect, and reads nothing."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen(16)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


class OneRequest(Listening):
    """Reads until a request has begun, gives the answer, if there is one, and does nothing more."""

    def __init__(self, answer=b""):
        super().__init__()
        self.answer = answer
        self.asked = threading.Event()
        self.connections = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections.append(connection)
            text = b""
            while b"\r\n\r\n" not in text and (data := connection.recv(65536)):
                text += data
            if self.answer:
                head, _, body = text.partition(b"\r\n\r\n")
                left = int(re.search(rb"content-length: (\d+)", head.lower())[1]) - len(body)
                while left > 0 and (data := connection.recv(65536)):
                    left -= len(data)
                connection.sendall(self.answer)
            self.asked.set()

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        super().__exit__()
        for connection in self.connections:
            connection.close()


class SilentGrpc:
    """Takes a call, and never returns from it."""

    def __init__(self):
        self.asked, self.over = threading.Event(), threading.Event()

    def __enter__(self):
        self.server = grpc.server(futures.ThreadPoolExecutor(4))

        class Servicer:
            def Export(_, request, context):
                self.asked.set()
                self.over.wait()
                context.abort(grpc.StatusCode.UNAVAILABLE, "over")

        trace_grpc.add_TraceServiceServicer_to_server(Servicer(), self.server)
        self.url = f"http://127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"
        self.server.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.server.stop(0).wait()


class ExitTest(unittest.TestCase):
    def check_exit(self, receiver, how, protocol):
        export = f"otlp:{receiver.url}?protocol={protocol}&detail=all&batch=100&metrics=off&timeout=0"
        with subprocess.Popen([RUN_STEPS, how, "0", "50"], env=environment([export], FERRET_STOP_DEADLINE="300ms"),
                              stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
            try:
                receiver.asked.wait()
                start = time.monotonic()
                _, errors = program.communicate("end\n", timeout=SLACK)
            finally:
                program.kill()
        self.assertLess(time.monotonic() - start, SLACK)
        self.assertEqual(program.returncode, 0, errors)
        # By the exporter, or by the session if not even that came to its end.
        self.assertRegex(errors, r"[1-9][\d,]* spans?[^)]*\) could not be delivered|it lost [1-9]")
        self.assertLessEqual(errors.count("exporter otlp: "), 5, errors)

    def test_a_silent_http_receiver_delays_the_end_by_the_deadline_at_most(self):
        for how in ("return", "exit"):
            with self.subTest(how), OneRequest() as receiver:
                self.check_exit(receiver, how, "http/protobuf")

    def test_a_silent_grpc_receiver_delays_the_end_by_the_deadline_at_most(self):
        for how in ("return", "exit"):
            with self.subTest(how), SilentGrpc() as receiver:
                self.check_exit(receiver, how, "grpc")

    def test_a_retry_pause_delays_the_end_by_the_deadline_at_most(self):
        answer = b"HTTP/1.1 503 Busy\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n"
        for how in ("return", "exit"):
            with self.subTest(how), OneRequest(answer) as receiver:
                self.check_exit(receiver, how, "http/protobuf")


class HostTest(unittest.TestCase):
    def test_threads_that_record_make_no_system_call_while_a_receiver_reads_nothing(self):
        with Listening() as receiver:
            # 400,000 scopes: more than the exporter may hold, less than what is recorded into.
            out, errors = run("sealed", 400, 1000, f"otlp:{receiver.url}?detail=all&queue=8MB&timeout=0",
                              FERRET_STOP_DEADLINE="8s", FERRET_BUFFER_SIZE="256M")
        said = json.loads(out)
        # The receiver has not even taken the connection, and all of the work is done.
        self.assertEqual(said, {"lost": 0, "wanted": {}})
        self.assertRegex(errors, r"[1-9][\d,]* spans?[^)]*\) could not be delivered|it lost [1-9]")

    def test_of_two_receivers_the_dead_one_takes_nothing_from_the_other(self):
        with Receiver() as receiver, Listening() as refusing:
            refusing.socket.close()
            _, errors = run("return", 60, 50, f"otlp:{receiver.http_url}?detail=all",
                            f"otlp:{refusing.url}?detail=all&timeout=100ms")
        self.assertEqual(sent_spans(receiver.spans), len(receiver.spans))
        self.assertEqual(sum(span.name == "scope" for span in receiver.spans), 60 * 50)
        self.assertEqual(lost_spans(errors), len(receiver.spans), errors)
        self.assertNotIn(f"delivered to {receiver.http_url}", errors)

    def test_a_fork_in_the_middle_leaves_the_run_complete(self):
        for protocol in ("http/protobuf", "grpc"):
            with self.subTest(protocol), Receiver() as receiver:
                run("fork", 60, 50, f"otlp:{receiver.url(protocol)}?protocol={protocol}&detail=all")
                self.assertEqual(sum(span.name == "scope" for span in receiver.spans), 2 * 60 * 50)
                self.assertEqual(sent_spans(receiver.spans), len(receiver.spans))
                self.assertEqual(len({span.span_id for span in receiver.spans}), len(receiver.spans))

    def test_no_other_library_is_needed_or_seen(self):
        needed = subprocess.run(["readelf", "-d", "--wide", LIBFERRET], check=True, stdout=subprocess.PIPE,
                                text=True).stdout
        libraries = re.findall(r"NEEDED.*\[(.*)\]", needed)
        self.assertIn("libc.so.6", libraries)
        self.assertFalse([name for name in libraries if re.search("curl|grpc|gpr|protobuf|ssl", name)])
        for protocol in ("http/protobuf", "grpc"):
            with self.subTest(protocol), Receiver() as receiver:
                out, errors = run("symbols", 20, 10, f"otlp:{receiver.url(protocol)}?protocol={protocol}")
                self.assertEqual(out, "", errors)
                self.assertEqual(sent_spans(receiver.spans), len(receiver.spans))


class SpillTest(unittest.TestCase):
    def check_replay(self, url):
        with tempfile.TemporaryDirectory() as folder, Receiver() as receiver:
            _, errors = run("return", 60, 50, f"otlp:{url}?detail=all&batch=500&timeout=200ms&spill={folder}",
                            FERRET_STOP_DEADLINE="8s")
            self.assertEqual(lost_spans(errors), 0, errors)
            self.assertIn(" kept in ", errors)
            files = sorted(map(str, pathlib.Path(folder).glob("*.otlpspill")))
            self.assertTrue(files)
            subprocess.run([FERRET, "otlp-replay", "--endpoint", receiver.http_url, "--remove", *files],
                           env=environment([]), check=True, stdout=subprocess.DEVNULL, timeout=200)
            self.assertEqual(list(pathlib.Path(folder).glob("*.otlpspill")), [])
        self.assertEqual(sum(span.name == "scope" for span in receiver.spans), 60 * 50)
        self.assertEqual(sent_spans(receiver.spans), len(receiver.spans))
        self.assertEqual(len({(span.trace_id, span.span_id) for span in receiver.spans}), len(receiver.spans))
        self.assertEqual(sum(point.count for point in receiver.points("ferret.op.duration")), 60 * 50)

    def test_what_a_dead_receiver_did_not_get_arrives_once_by_a_replay(self):
        with Listening() as refusing:
            refusing.socket.close()
            self.check_replay(refusing.url)

    def test_what_a_silent_receiver_did_not_get_arrives_once_by_a_replay(self):
        with Listening() as silent:
            self.check_replay(silent.url)


class KillTest(unittest.TestCase):
    """What is not sent when a process is killed is sent by others, at least once."""

    def kill(self, crash_dir, export, under=()):
        result = subprocess.run([*under, RUN_STEPS, "killed", "20", "500"],
                                env=environment([export], FERRET_CRASH_DIR=crash_dir), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200, check=False)
        self.assertIn(result.returncode, (-signal.SIGKILL, 128 + signal.SIGKILL), result.stderr)

    def recover(self, crash_dir, *export):
        subprocess.run([FERRET, "recover", *export, crash_dir], env=environment([]), check=True, timeout=200,
                       stdout=subprocess.DEVNULL)
        # What was exported to others than the program's own is still there for those.
        self.assertEqual(len(os.listdir(crash_dir)), 1 if export else 0)

    def check(self, receiver, steps):
        self.assertEqual(len({span.span_id for span in receiver.spans if span.name == "scope"}), 21 * 500)
        self.assertEqual(len({span.span_id for span in receiver.spans if span.name == "ProfilerStep"}), steps)

    def test_ferret_run_sends_also_the_step_under_way(self):
        with tempfile.TemporaryDirectory() as crash_dir, Receiver() as receiver:
            self.kill(crash_dir, f"otlp:{receiver.http_url}?every=1", under=(FERRET, "run", "--no-torch", "--"))
            self.check(receiver, 20)
            self.assertEqual(os.listdir(crash_dir), [])

    def test_recover_sends_also_the_step_under_way(self):
        with tempfile.TemporaryDirectory() as crash_dir, Receiver() as receiver:
            self.kill(crash_dir, f"otlp:{receiver.http_url}?every=1")
            self.recover(crash_dir)
            self.check(receiver, 20)

    def test_recover_sends_what_a_silent_receiver_did_not_take(self):
        with tempfile.TemporaryDirectory() as crash_dir, Listening() as silent, Receiver() as receiver:
            self.kill(crash_dir, f"otlp:{silent.url}?every=1&timeout=0")
            self.recover(crash_dir, "--export", f"otlp:{receiver.http_url}?every=1")
            self.check(receiver, 20)


if __name__ == "__main__":
    LIBFERRET, FERRET, RUN_STEPS = (os.path.abspath(sys.argv.pop()) for _ in range(3))
    unittest.main()
