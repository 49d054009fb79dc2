# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""GrpcTransport against receivers made with Python's gRPC, which behave in every way that receivers do.

    grpc_receiver_test.py GRPC_SENDER LIBRARY
"""
import concurrent.futures
import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

import grpc
import grpc_ctypes
from google.protobuf import any_pb2, duration_pb2
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

SENDER = LIBRARY = None
TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
METRICS = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
# Upper bound of what takes milliseconds, on a machine that is busy otherwise.
SOON = 30
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


class Status(grpc.Status):
    def __init__(self, code, details="", retry_after=None):
        self.code, self.details, self.trailing_metadata = code, details, ()
        if retry_after is not None:
            # google.rpc.RetryInfo{retry_delay = 1}, google.rpc.Status{code = 1, details = 3}: of googleapis, which is not
            # here, but for its field numbers.
            delay = duration_pb2.Duration(seconds=int(retry_after), nanos=int(retry_after % 1 * 1e9)).SerializeToString()
            detail = any_pb2.Any(type_url="type.googleapis.com/google.rpc.RetryInfo",
                                 value=b"\x0a" + bytes([len(delay)]) + delay).SerializeToString()
            message = b"\x08" + bytes([code.value[0]]) + b"\x1a" + bytes([len(detail)]) + detail
            self.trailing_metadata = (("grpc-status-details-bin", message),)


class Receiver(grpc.GenericRpcHandler):
    """Answers by `behave(body, context)`, and keeps what came."""

    def __init__(self, behave=lambda body, context: b"", address="127.0.0.1:0", credentials=None,
                 methods=(TRACES, METRICS)):
        self.behave, self.methods = behave, methods
        self.requests = []  # (method, body, metadata)
        self.came = threading.Event()
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), handlers=[self],
                                  options=[("grpc.so_reuseport", 0), ("grpc.max_send_message_length", -1)])
        self.port = (self.server.add_insecure_port(address) if credentials is None else
                     self.server.add_secure_port(address, credentials))
        self.server.start()

    def service(self, details):
        if details.method not in self.methods:
            return None

        def answer(body, context):
            self.requests.append((details.method, body, dict(context.invocation_metadata())))
            self.came.set()
            result = self.behave(body, context)
            if isinstance(result, Status):
                context.abort_with_status(result)
            return result
        return grpc.unary_unary_rpc_method_handler(answer)

    def stop(self):
        self.server.stop(None).wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Sender:
    def __init__(self, url, program=None, library=None, environment={}, **options):
        self.process = subprocess.Popen(
            [program or SENDER, LIBRARY if library is None else library, "url=" + url] +
            ["%s=%s" % item for item in options.items()], env={**ENVIRONMENT, **environment},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def say(self, *words):
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        assert line, "the sender ended: " + self.process.stderr.read()
        return json.loads(line)

    def ask(self, *words):
        self.say(*words)
        return self.hear()

    def send(self, signal="traces", size=100, milliseconds=60000):
        return self.ask("send", signal, size, milliseconds)

    def __enter__(self):
        self.opened = self.hear()
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.process.kill()
        _, self.errors = self.process.communicate(timeout=SOON)
        assert kind is not None or self.process.returncode == 0, (self.process.returncode, self.errors)


def against(behave):
    """The outcome of one request for traces."""
    with Receiver(behave) as receiver, Sender("http://127.0.0.1:%d" % receiver.port) as sender:
        return sender.send()


class AnswersTest(unittest.TestCase):
    def test_a_request_arrives_whole_with_its_metadata(self):
        with Receiver() as receiver:
            with Sender("http://localhost:%d" % receiver.port, header="Authorization:Bearer x y") as sender:
                for signal in "traces", "metrics":
                    outcome = sender.send(signal, 3_000_000)
                    self.assertEqual((outcome["kind"], outcome["rejected"], outcome["message"]), ("delivered", 0, ""))
            self.assertEqual([method for method, _, _ in receiver.requests], [TRACES, METRICS])
            for _, body, metadata in receiver.requests:
                self.assertEqual(body, bytes(3_000_000))
                self.assertEqual(metadata["authorization"], "Bearer x y")
                self.assertRegex(metadata["user-agent"], r"^OTel-OTLP-Exporter-Ferret/\S+ grpc-c\+\+/")

    def test_official_classes_read_what_was_sent(self):
        request = trace_service_pb2.ExportTraceServiceRequest()
        span = request.resource_spans.add().scope_spans.add().spans.add()
        span.name, span.trace_id = "naïve", bytes(range(16))
        with tempfile.NamedTemporaryFile() as file:
            file.write(request.SerializeToString())
            file.flush()
            for gzip in 0, 1:
                with Receiver() as receiver, Sender("http://127.0.0.1:%d" % receiver.port, gzip=gzip) as sender:
                    self.assertEqual(sender.ask("file", "traces", file.name, 60000)["kind"], "delivered")
                    _, body, _ = receiver.requests[0]
                    self.assertEqual(trace_service_pb2.ExportTraceServiceRequest.FromString(body), request)

    def test_partial_success_says_how_many_and_why(self):
        traces = trace_service_pb2.ExportTraceServiceResponse()
        traces.partial_success.rejected_spans, traces.partial_success.error_message = 12, "too\nold"
        metrics = metrics_service_pb2.ExportMetricsServiceResponse()
        metrics.partial_success.rejected_data_points, metrics.partial_success.error_message = 3, "no"
        answers = [traces.SerializeToString(), metrics.SerializeToString()]
        with Receiver(lambda body, context: answers.pop(0)) as receiver:
            with Sender("http://127.0.0.1:%d" % receiver.port) as sender:
                outcome = sender.send("traces")
                self.assertEqual((outcome["rejected"], outcome["message"]), (12, "too old"))
                self.assertEqual(outcome["kind"], "delivered")
                outcome = sender.send("metrics")
                self.assertEqual((outcome["kind"], outcome["rejected"], outcome["message"]), ("delivered", 3, "no"))

    def test_unavailable_with_a_retry_info_says_when(self):
        outcome = against(lambda body, context: Status(grpc.StatusCode.UNAVAILABLE, "overloaded", 2.5))
        self.assertEqual((outcome["kind"], outcome["retry_after"]), ("retryable", 2.5))
        self.assertEqual(outcome["message"], "gRPC UNAVAILABLE: overloaded")

    def test_resource_exhausted_is_retryable_only_with_a_retry_info(self):
        outcome = against(lambda body, context: Status(grpc.StatusCode.RESOURCE_EXHAUSTED, "slow", 1))
        self.assertEqual((outcome["kind"], outcome["retry_after"]), ("retryable", 1))
        outcome = against(lambda body, context: Status(grpc.StatusCode.RESOURCE_EXHAUSTED, "slow"))
        self.assertEqual((outcome["kind"], outcome["retry_after"]), ("too large", None))

    def test_a_refusal_is_final(self):
        outcome = against(lambda body, context: Status(grpc.StatusCode.UNAUTHENTICATED, "who are you"))
        self.assertEqual((outcome["kind"], outcome["message"]), ("refused", "gRPC UNAUTHENTICATED: who are you"))

    def test_metrics_that_a_receiver_does_not_know_are_unsupported(self):
        with Receiver(methods=(TRACES,)) as receiver, Sender("http://127.0.0.1:%d" % receiver.port) as sender:
            self.assertEqual(sender.send("traces")["kind"], "delivered")
            self.assertEqual(sender.send("metrics")["kind"], "unsupported")
            self.assertEqual(sender.send("traces")["kind"], "delivered")

    def test_a_request_above_the_receivers_limit_is_too_large(self):
        with Receiver() as receiver, Sender("http://127.0.0.1:%d" % receiver.port) as sender:
            self.assertEqual(sender.send(size=(4 << 20) + 1)["kind"], "too large")
            self.assertEqual(sender.send(size=(4 << 20) - 1)["kind"], "delivered")

    def test_an_answer_above_our_limit_is_not_asked_for_again(self):
        outcome = against(lambda body, context: bytes(5 << 20))
        self.assertEqual(outcome["kind"], "refused")
        self.assertIn("larger than max", outcome["message"])

    def test_details_that_are_noise_change_nothing(self):
        def behave(body, context):
            status = Status(grpc.StatusCode.UNAVAILABLE, "noise")
            status.trailing_metadata = (("grpc-status-details-bin", b"\x1a\xff\xff\xff\xff\xff"),)
            return status
        outcome = against(behave)
        self.assertEqual((outcome["kind"], outcome["retry_after"]), ("retryable", None))


class ConnectionsTest(unittest.TestCase):
    def test_a_hanging_receiver_costs_the_deadline_and_the_next_request_is_served(self):
        released = threading.Event()

        def behave(body, context):
            if len(body) == 1:
                released.wait(SOON)
            return b""
        with Receiver(behave) as receiver, Sender("http://127.0.0.1:%d" % receiver.port) as sender:
            outcome = sender.send(size=1, milliseconds=300)
            self.assertEqual(outcome["kind"], "retryable")
            self.assertIn("DEADLINE_EXCEEDED", outcome["message"])
            self.assertLess(outcome["ms"], SOON * 1000)
            self.assertEqual(sender.send(size=2)["kind"], "delivered")
            released.set()

    def test_a_request_that_hangs_in_the_receiver_is_cancelled(self):
        released = threading.Event()

        def behave(body, context):
            released.wait(SOON * 2)
            return b""
        with Receiver(behave) as receiver, Sender("http://127.0.0.1:%d" % receiver.port) as sender:
            sender.say("cancel")
            self.assertTrue(receiver.came.wait(SOON))
            outcome = sender.ask("now")
            self.assertEqual(outcome["kind"], "retryable")
            self.assertIn("CANCELLED", outcome["message"])
            self.assertEqual(sender.send(milliseconds=-1)["kind"], "retryable")
            released.set()

    def test_requests_and_both_signals_share_a_connection(self):
        peers = set()

        def behave(body, context):
            peers.add(context.peer())
            return b""
        with Receiver(behave) as receiver, Sender("http://127.0.0.1:%d" % receiver.port) as sender:
            self.assertEqual(sender.ask("repeat", 50, 100_000)["kind"], "delivered")
            self.assertEqual(sender.send("metrics")["kind"], "delivered")
            self.assertEqual(len(receiver.requests), 51)
        self.assertEqual(len(peers), 1)

    def test_a_receiver_that_goes_and_comes_back_is_found_again(self):
        first = Receiver()
        with Sender("http://127.0.0.1:%d" % first.port) as sender:
            self.assertEqual(sender.send()["kind"], "delivered")
            first.stop()
            outcome = sender.send()
            self.assertEqual(outcome["kind"], "retryable")
            self.assertIn("UNAVAILABLE", outcome["message"])
            with Receiver(address="127.0.0.1:%d" % first.port) as second:
                start = time.monotonic()
                while (outcome := sender.send())["kind"] != "delivered":
                    self.assertEqual(outcome["kind"], "retryable")
                    self.assertLess(time.monotonic() - start, SOON)
                self.assertEqual(len(second.requests), 1)

    def test_sockets_of_the_file_system_and_ipv6_are_served(self):
        with tempfile.TemporaryDirectory() as folder:
            url = "unix:" + folder + "/agent.sock"
            with Receiver(address=url), Sender(url) as sender:
                self.assertEqual(sender.send()["kind"], "delivered")
        try:
            receiver = Receiver(address="[::1]:0")
        except RuntimeError:
            return  # a machine without IPv6
        with receiver, Sender("http://[::1]:%d" % receiver.port) as sender:
            self.assertEqual(sender.send()["kind"], "delivered")

    def test_a_name_that_does_not_resolve_is_said(self):
        with Sender("http://no-such-host.invalid:4317") as sender:
            outcome = sender.send(milliseconds=SOON * 1000)
            self.assertEqual(outcome["kind"], "retryable")


class TlsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        for name in "server", "other", "client":
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                            "-nodes", "-keyout", cls.path(name + ".key"), "-out", cls.path(name + ".pem"), "-days", "2",
                            "-subj", "/CN=" + name, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                           check=True, capture_output=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def read(cls, name):
        return pathlib.Path(cls.path(name)).read_bytes()

    def receiver(self, **options):
        pair = (self.read("server.key"), self.read("server.pem"))
        return Receiver(credentials=grpc.ssl_server_credentials([pair], **options))

    def test_the_right_ca_is_served_with_and_without_a_scheme(self):
        with self.receiver() as receiver:
            for url in "https://localhost:%d", "localhost:%d", "https://127.0.0.1:%d":
                with Sender(url % receiver.port, ca=self.path("server.pem")) as sender:
                    self.assertEqual(sender.send()["kind"], "delivered")

    def test_another_ca_and_a_plain_connection_get_nowhere(self):
        with self.receiver() as receiver:
            for url, ca in ("https://localhost:%d", "other.pem"), ("http://localhost:%d", "server.pem"):
                with Sender(url % receiver.port, ca=self.path(ca)) as sender:
                    self.assertEqual(sender.send()["kind"], "retryable")
                self.assertEqual(sender.errors, "")
            self.assertEqual(receiver.requests, [])

    def test_a_client_that_must_show_a_certificate_shows_it(self):
        with self.receiver(root_certificates=self.read("client.pem"), require_client_auth=True) as receiver:
            url, ca = "https://localhost:%d" % receiver.port, self.path("server.pem")
            with Sender(url, ca=ca, key=self.path("client.key"), certificate=self.path("client.pem")) as sender:
                self.assertEqual(sender.send()["kind"], "delivered")
            with Sender(url, ca=ca) as sender:
                self.assertEqual(sender.send()["kind"], "retryable")


class EndOfProcessTest(unittest.TestCase):
    def test_a_process_ends_promptly_while_a_request_hangs(self):
        released = threading.Event()

        def behave(body, context):
            released.wait(SOON * 2)
            return b""
        with Receiver(behave) as receiver:
            with Sender("http://127.0.0.1:%d" % receiver.port) as sender:
                sender.say("exit")
                self.assertTrue(receiver.came.wait(SOON))
                start = time.monotonic()
                sender.say("now")
            self.assertLess(time.monotonic() - start, SOON)
            self.assertEqual(sender.errors, "")
            released.set()

    def test_what_is_sent_while_the_process_exits_arrives(self):
        with Receiver() as receiver:
            with Sender("http://127.0.0.1:%d" % receiver.port) as sender:
                self.assertEqual(sender.send()["kind"], "delivered")
                sender.say("at_exit")
                self.assertEqual(sender.hear()["kind"], "delivered")
            self.assertEqual([body for _, body, _ in receiver.requests], [bytes(100), b"at exit"])
            self.assertEqual(sender.errors, "")

    def test_the_first_request_may_come_while_the_process_exits(self):
        with Receiver() as receiver:
            with Sender("http://127.0.0.1:%d" % receiver.port) as sender:
                sender.say("at_exit")
                self.assertEqual(sender.hear()["kind"], "delivered")
            self.assertEqual(sender.errors, "")


class WhereTheLibraryIsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bin, self.lib = (pathlib.Path(folder.name, name) for name in ("bin", "lib"))
        self.bin.mkdir()
        self.lib.mkdir()
        self.program = shutil.copy(SENDER, self.bin / "sender")

    def works(self, program, **environment):
        with Receiver() as receiver:
            url = "http://127.0.0.1:%d" % receiver.port
            with Sender(url, program=program, library="", environment=environment) as sender:
                self.assertEqual(sender.send()["kind"], "delivered")

    def test_beside_what_loads_it(self):
        shutil.copy(LIBRARY, self.bin)
        self.works(self.program)

    def test_beside_what_a_link_leads_to(self):
        shutil.copy(LIBRARY, self.bin)
        link = self.lib / "link"
        link.symlink_to(self.program)
        self.works(link)

    def test_beside_a_program_that_path_found(self):
        shutil.copy(LIBRARY, self.bin)
        with unittest.mock.patch.dict(os.environ, PATH=str(self.bin)):  # where Popen looks
            self.works("sender", PATH=str(self.bin))

    def test_where_the_linker_looks(self):
        shutil.copy(LIBRARY, self.lib)
        self.works(self.program, LD_LIBRARY_PATH=str(self.lib))

    def test_nowhere(self):
        done = subprocess.run([self.program, "", "url=http://127.0.0.1:1"], capture_output=True, text=True, timeout=SOON)
        self.assertEqual(done.returncode, 1)
        self.assertIn("libferret_otlp_grpc.so: cannot open", done.stderr)
        self.assertIn("beside libferret.so", done.stderr)


class LibraryTest(unittest.TestCase):
    def test_it_exports_one_symbol(self):
        lines = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], check=True, capture_output=True,
                               text=True).stdout
        self.assertEqual([line.split()[-1] for line in lines.splitlines()], ["ferret_otlp_grpc_entry"])

    def test_it_does_not_link_protobuf(self):
        lines = subprocess.run(["readelf", "-d", LIBRARY], check=True, capture_output=True, text=True).stdout
        self.assertIn("libgrpc++.so", lines)
        everything = subprocess.run(["ldd", LIBRARY], check=True, capture_output=True, text=True).stdout
        self.assertIn("libgrpc++.so", everything)
        self.assertNotIn("protobuf", everything)

    def test_it_works_in_a_process_that_has_another_grpc_and_a_protobuf(self):
        with Receiver() as receiver:
            client = grpc_ctypes.Client(LIBRARY, "ipv4:127.0.0.1:%d" % receiver.port)
            self.assertFalse(hasattr(ctypes.CDLL(None), "ferret_otlp_grpc_entry"))
            self.assertEqual(client.send(TRACES, b"abc"), (0, ""))
            with grpc.insecure_channel("127.0.0.1:%d" % receiver.port) as channel:
                self.assertEqual(channel.unary_unary(TRACES)(b"def", timeout=SOON), b"")
            self.assertEqual(client.send(TRACES, b"ghi"), (0, ""))
            client.close()
            self.assertEqual([body for _, body, _ in receiver.requests], [b"abc", b"def", b"ghi"])


if __name__ == "__main__":
    LIBRARY = os.path.abspath(sys.argv.pop(2))
    SENDER = sys.argv.pop(1)
    unittest.main()
