# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""A receiver of OTLP made of OpenTelemetry's own classes, over HTTP and gRPC, on ports of the kernel's choice.

    with Receiver() as receiver:
        ...  # send to receiver.http_url or receiver.grpc_url
        receiver.spans, receiver.metrics
"""
import collections
import gzip
import http.server
import json
import threading
from concurrent import futures

import grpc
from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics_service
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2_grpc as metrics_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as trace_service
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as trace_grpc
from opentelemetry.proto_json.collector.metrics.v1 import metrics_service as json_metrics
from otlp_messages import unknown_fields, with_base64_ids


class Receiver:
    def __init__(self):
        self.lock = threading.Lock()
        self.requests = collections.Counter()  # by (signal, protocol, whether compressed)
        self.unknown = 0
        self.spans = []
        self.resources = []
        self.metrics = []  # Metric messages
        self.metrics_status = 200

    def __enter__(self):
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.grpc = grpc.server(futures.ThreadPoolExecutor(2))
        trace_grpc.add_TraceServiceServicer_to_server(self.servicer("traces", trace_service, "Trace"), self.grpc)
        metrics_grpc.add_MetricsServiceServicer_to_server(self.servicer("metrics", metrics_service, "Metrics"), self.grpc)
        grpc_port = self.grpc.add_insecure_port("127.0.0.1:0")
        self.grpc.start()
        self.http_url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.grpc_url = f"http://127.0.0.1:{grpc_port}"
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()
        self.grpc.stop(0).wait()

    def url(self, protocol):
        return self.grpc_url if protocol == "grpc" else self.http_url

    def take(self, signal, request, how):
        with self.lock:
            self.requests[(signal, *how)] += 1
            self.unknown += unknown_fields(request)
            if signal == "traces":
                for resource in request.resource_spans:
                    self.resources.append(resource.resource)
                    for scope in resource.scope_spans:
                        assert scope.spans, "an empty envelope"
                        self.spans.extend(scope.spans)
            else:
                for resource in request.resource_metrics:
                    self.resources.append(resource.resource)
                    for scope in resource.scope_metrics:
                        assert scope.metrics, "an empty envelope"
                        self.metrics.extend(scope.metrics)

    def points(self, name):
        return [point for metric in self.metrics if metric.name == name
                for point in getattr(metric, metric.WhichOneof("data")).data_points]

    def servicer(self, signal, module, word):
        receiver = self

        class Servicer:
            def Export(self, request, context):
                receiver.take(signal, request, ("grpc", False))
                return getattr(module, f"Export{word}ServiceResponse")()

        return Servicer()

    def handler(self):
        receiver = self
        types = {"/v1/traces": ("traces", trace_service.ExportTraceServiceRequest),
                 "/v1/metrics": ("metrics", metrics_service.ExportMetricsServiceRequest)}

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                compressed = self.headers.get("content-encoding") == "gzip"
                if compressed:
                    body = gzip.decompress(body)
                signal, message = types[self.path]
                if signal == "metrics" and receiver.metrics_status != 200:
                    return self.answer(receiver.metrics_status, "text/plain", b"no metrics here")
                if self.headers["content-type"] == "application/json":
                    tree = json.loads(body)
                    if signal == "metrics":
                        json_metrics.ExportMetricsServiceRequest.from_json(body.decode())  # stricter than the other one
                    request = json_format.ParseDict(with_base64_ids(tree), message())
                    receiver.take(signal, request, ("http/json", compressed))
                    return self.answer(200, "application/json", b"{}")
                assert self.headers["content-type"] == "application/x-protobuf"
                receiver.take(signal, message.FromString(body), ("http/protobuf", compressed))
                return self.answer(200, "application/x-protobuf", b"")

            def answer(self, status, kind, body):
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        return Handler
