# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""What exporters' threads pay for an event."""

from reporting.rows import Row, google_benchmark, median, nanoseconds


def chrome_trace(folder, runs):
    rows = google_benchmark(f"{folder}/chrome_trace_benchmark", runs, whole_names=True)
    found = {name.split("/iterations")[0]: name for name in rows}

    def cost(name):
        return nanoseconds(rows, found[name])

    for name, text in (("BM_RapidJson", "RapidJSON's writer, the same events"),
                       ("BM_RapidJsonToFile", "RapidJSON's writer, into a plain file"),
                       ("BM_WritesOnly", "writes of as many bytes")):
        yield Row(text, f"{1e3 / cost(name):.2f} M events/s", f"{cost(name):.0f} ns an event")
    library = cost("BM_RapidJson") / cost("BM_Text")
    yield Row("chrome_trace exporter: text", f"{1e3 / cost('BM_Text'):.2f} M events/s",
              f"{cost('BM_Text'):.0f} ns an event, {library:.1f} x RapidJSON's speed", library)
    for name, text in (("BM_TextToFile", "into a plain file"), ("BM_KernelText", "text of kernels with their launches"),
                       ("BM_GzipToFile/1", "gzipped, level 1"), ("BM_GzipToFile/3", "gzipped, level 3"),
                       ("BM_GzipToFile/6", "gzipped, level 6")):
        rate = 1e3 / cost(name)
        yield Row(f"chrome_trace exporter: {text}", f"{rate:.2f} M events/s",
                  f"{cost(name):.0f} ns and {median(rows, found[name], 'bytes/event'):.0f} bytes an event", rate)


def table(folder, runs):
    rows = google_benchmark(f"{folder}/table_benchmark", runs)
    for name, text in (("Read", "events read, and nothing else"), ("Plain", "table exporter"),
                       ("Unnamed", "table exporter, names not in the name table")):
        rate = median(rows, name, "items_per_second")
        yield Row(text, f"{rate / 1e6:.1f} M events/s", f"{1e9 / rate:.1f} ns an event", 1e9 / rate)


def otlp_encoding(folder, runs):
    rows = google_benchmark(f"{folder}/otlp_benchmark", runs, whole_names=True)
    for kind in ("plain", "op", "kernel"):
        ours, theirs = nanoseconds(rows, f"BM_Protobuf/{kind}"), nanoseconds(rows, f"BM_Libprotobuf/{kind}")
        yield Row(f"OTLP: a span encoded, {kind}", f"{ours:.0f} ns",
                  f"libprotobuf {theirs:.0f} ns, {theirs / ours:.1f} x; JSON {nanoseconds(rows, f'BM_Json/{kind}'):.0f} ns",
                  theirs / ours)
        if kind == "plain":
            yield Row("OTLP: plain spans encoded", f"{1e3 / ours:.0f} M spans/s", "", 1e3 / ours)


def otlp_way(folder, runs):
    rows = google_benchmark(f"{folder}/otlp_send_benchmark", runs)
    encoded = nanoseconds(rows, "EncodeProtobuf")
    for name, text in (("StepsSent", "held for its step, sent"),
                       ("StepsSentWithHistograms", "held for its step, sent, with histograms"),
                       ("StepsDropped", "held for its step, not sampled"),
                       ("StepsDroppedWithHistograms", "held for its step, not sampled, with histograms")):
        time = nanoseconds(rows, name)
        yield Row(f"OTLP: an op {text}", f"{time:.0f} ns", f"{time / encoded:.1f} x its encoding ({encoded:.0f} ns)",
                  time / encoded)
    for form, text in (("Protobuf", "http/protobuf"), ("Json", "http/json")):
        floor, copied = nanoseconds(rows, "Floor" + form), nanoseconds(rows, "Memcpy" + form)
        for name, gzip in ((form, ""), (form + "Gzip", ", gzip")):
            time = nanoseconds(rows, "Send" + name)
            size = median(rows, "Send" + name, "wire bytes/span")
            yield Row(f"OTLP: requests sent over {text}{gzip}", f"{1e3 / time:.2f} M spans/s",
                      f"{size:.0f} bytes and {time:.0f} ns a span; bare socket {floor:.0f} ns, {time / floor:.2f} x; "
                      f"memcpy {copied:.0f} ns", time / floor)
    for name, text in (("Protobuf", ""), ("ProtobufGzip", ", gzip"), ("Json", ", http/json")):
        time = nanoseconds(rows, "Whole" + name)
        yield Row(f"OTLP: from events to the receiver, one thread{text}", f"{1e3 / time:.2f} M spans/s",
                  f"{time:.0f} ns a span", time)


def cuda_scope(folder, runs):
    rows = google_benchmark(f"{folder}/cuda_scope_benchmark", runs)
    bare = median(rows, "BM_BareDriverCalls", "real_time")
    scope = median(rows, "BM_CudaScope", "real_time")
    yield Row("scope timed on a device, over a fake driver", f"{scope:.0f} ns", f"{scope - bare:.0f} ns over its driver calls",
              scope - bare)
