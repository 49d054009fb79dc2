# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""The table of delivery.md over gRPC: whole programs, and where every span went.

    fault_grpc_test.py RUN_STEPS
"""
import os
import re
import socket
import subprocess
import sys
import threading
import unittest
from concurrent import futures

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as trace_service
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as trace_grpc

from otlp_messages import attributes
from receiver import Receiver

RUN_STEPS = None
Code = grpc.StatusCode


def spans_of(request):
    return [span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans]


class Faulty:
    """`script(call number, spans)` gives the status to fail with, or None and how many spans are not taken."""

    def __init__(self, script):
        self.script = script
        self.lock = threading.Lock()
        self.calls = 0
        self.ids = []
        self.rejected = 0

    def __enter__(self):
        self.server = grpc.server(futures.ThreadPoolExecutor(2))
        faulty = self

        class Servicer:
            def Export(self, request, context):
                return faulty.answer(request, context)

        trace_grpc.add_TraceServiceServicer_to_server(Servicer(), self.server)
        self.url = f"http://127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"
        self.server.start()
        return self

    def __exit__(self, *_):
        self.server.stop(0).wait()

    def answer(self, request, context):
        spans = spans_of(request)
        with self.lock:
            number, self.calls = self.calls, self.calls + 1
            code, rejected = self.script(number, len(spans))
            if code is None:
                self.ids += [(span.trace_id, span.span_id) for span in spans]
                self.rejected += rejected
        if code is not None:
            context.abort(code, "on purpose")
        response = trace_service.ExportTraceServiceResponse()
        if rejected:
            response.partial_success.rejected_spans = rejected
            response.partial_success.error_message = "odd"
        return response


class GrpcFaultTest(unittest.TestCase):
    def run_against(self, url, parameters="", batch=200):
        """Sends a run there, and to a receiver without faults. What that one got, and standard error."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "FERRET_"))}
        common = f"protocol=grpc&detail=all&batch={batch}&metrics=off"
        with Receiver() as receiver:
            # Where libferret_otlp_grpc.so is: the program is not beside it.
            environment.update(LD_LIBRARY_PATH=os.getcwd(), FERRET_STOP_DEADLINE="1m",
                               FERRET_EXPORT=f"otlp:{url}?{common}{parameters},otlp:{receiver.grpc_url}?{common}")
            result = subprocess.run([RUN_STEPS, "return", "30", "50"], env=environment, stderr=subprocess.PIPE,
                                    stdin=subprocess.DEVNULL, text=True, timeout=200, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        (record,) = [attributes(span) for span in receiver.spans if span.name == "Ferret Record"]
        self.assertEqual(record["ferret.spans.sent"], len(receiver.spans))
        self.assertGreater(len(receiver.spans), 30 * 50)
        return {(span.trace_id, span.span_id) for span in receiver.spans}, result.stderr

    def count(self, pattern, errors):
        return sum(int(digits.replace(",", "")) for digits in re.findall(pattern, errors))

    def check(self, script, parameters="", batch=200):
        """The number of spans that were produced, were taken, and were lost, which add up. And standard error."""
        with Faulty(script) as there:
            produced, errors = self.run_against(there.url, parameters, batch)
        lost = self.count(r"\(([\d,]+) spans?\) could not be delivered", errors)
        self.assertEqual(self.count(r"did not take ([\d,]+) spans?", errors), there.rejected, errors)
        self.assertEqual(len(set(there.ids)), len(there.ids), "twice")
        self.assertLessEqual(set(there.ids), produced)
        self.assertEqual(len(there.ids) + lost, len(produced), errors)
        self.assertLessEqual(errors.count("exporter otlp: "), 3, errors)
        return len(produced), len(there.ids), lost, errors

    def test_unavailable_for_a_while_loses_nothing(self):
        produced, taken, _, errors = self.check(lambda number, _: (Code.UNAVAILABLE if number < 2 else None, 0))
        self.assertEqual(taken, produced, errors)

    def test_what_is_too_large_arrives_in_parts(self):
        # All in one request, whose halves are small enough.
        sizes = []

        def script(_, spans):
            sizes.append(spans)
            return (Code.RESOURCE_EXHAUSTED if spans > 1000 else None, 0)

        produced, taken, _, errors = self.check(script, "&delay=1m", batch=8000)
        self.assertEqual(taken, produced, errors)
        self.assertGreater(sizes[0], 1000)

    def test_what_is_refused_is_lost_and_the_rest_arrives(self):
        produced, taken, lost, errors = self.check(
            lambda number, _: (Code.INVALID_ARGUMENT if number % 2 else None, 0))
        self.assertGreater(min(taken, lost), 0, errors)
        self.assertIn("on purpose", errors)

    def test_a_run_without_a_permit_is_lost(self):
        produced, _, lost, errors = self.check(lambda *_: (Code.UNAUTHENTICATED, 0))
        self.assertEqual(lost, produced, errors)

    def test_what_is_taken_in_part_is_not_sent_again(self):
        produced, taken, _, errors = self.check(lambda _, spans: (None, min(spans, 2)))
        self.assertEqual(taken, produced, errors)
        self.assertIn("odd", errors)

    def test_a_receiver_that_is_not_there_is_tried_for_the_timeout(self):
        closed = socket.socket()
        closed.bind(("127.0.0.1", 0))  # and nobody listens
        with closed:
            produced, errors = self.run_against(f"http://127.0.0.1:{closed.getsockname()[1]}", "&timeout=200ms")
        self.assertEqual(self.count(r"\(([\d,]+) spans?\) could not be delivered", errors), len(produced), errors)


if __name__ == "__main__":
    RUN_STEPS = os.path.abspath(sys.argv.pop())
    unittest.main()
