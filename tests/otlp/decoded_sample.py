# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Prints a sample of what a PyTorch training sends, decoded, for exporters/otlp/recipes.md: the root of a step, its
phases, an operator, its backward operator with the link, and a point of a metric with its exemplar.

    decoded_sample.py PYTHON_WITH_TORCH FERRET
"""
import sys

import recorded_training
from otlp_messages import attributes

STEP = 2


def told(item):
    return " ".join(f"{key}={value!r}" if isinstance(value, str) else f"{key}={value}"
                    for key, value in attributes(item).items())


def told_span(span, origin):
    lines = [f"span {span.name}: {span.start_time_unix_nano - origin} to {span.end_time_unix_nano - origin} ns",
             f"    id {span.span_id.hex()}, parent {span.parent_span_id.hex() or 'none'}; {told(span)}"]
    lines += [f"    link to {link.span_id.hex()} in trace {link.trace_id.hex()}; {told(link)}" for link in span.links]
    return lines


def told_point(metric, point):
    buckets = {point.positive.offset + i: count for i, count in enumerate(point.positive.bucket_counts) if count}
    lines = [f"exponential histogram {metric.name} in {metric.unit}: {told(point)}",
             f"    count {point.count}, sum {point.sum}, min {point.min}, max {point.max}",
             f"    scale {point.scale}, buckets {buckets}"]
    lines += [f"    exemplar {e.as_double}: span {e.span_id.hex()} in trace {e.trace_id.hex()}" for e in point.exemplars]
    return lines


def sample(torch_python, ferret):
    receiver = recorded_training.record(torch_python, ferret, f"?steps={STEP}&every=0&slow=0&interval=1h")
    root = next(span for span in receiver.spans if attributes(span).get("ferret.step") == STEP)
    origin = root.start_time_unix_nano
    inside = sorted((span for span in receiver.spans if span.trace_id == root.trace_id),
                    key=lambda span: span.start_time_unix_nano)
    backward = next(span for span in inside if span.name == "AddmmBackward0")
    forward = next(span for span in inside if span.span_id == backward.links[0].span_id)
    phases = [span for span in inside if "ferret.phase" in attributes(span)]
    lines = [f"trace {root.trace_id.hex()}"]
    lines += [line for span in [root, *phases, forward, backward] for line in told_span(span, origin)]
    for metric in receiver.metrics:
        if metric.name == "ferret.op.duration":
            for point in metric.exponential_histogram.data_points:
                if attributes(point)["ferret.op.name"] == "aten::addmm":
                    return lines + told_point(metric, point)
    raise AssertionError("no point of aten::addmm")


if __name__ == "__main__":
    print("\n".join(sample(*sys.argv[1:3])))
