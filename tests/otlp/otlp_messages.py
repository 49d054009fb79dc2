# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""What tests ask of messages of OpenTelemetry's own classes, and of OTLP/JSON."""
import base64

from google.protobuf.unknown_fields import UnknownFieldSet

IDS = ("traceId", "spanId", "parentSpanId")


def messages_in(message):
    yield message
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for inside in value if isinstance(value, (list, tuple)) or hasattr(value, "append") else [value]:
            yield from messages_in(inside)


def unknown_fields(message):
    return sum(len(UnknownFieldSet(inside)) for inside in messages_in(message))


def with_ids(tree, convert):
    """The same JSON with other ids."""
    if isinstance(tree, list):
        return [with_ids(element, convert) for element in tree]
    if not isinstance(tree, dict):
        return tree
    return {key: convert(value) if key in IDS else with_ids(value, convert) for key, value in tree.items()}


def with_base64_ids(tree):
    """OTLP/JSON has ids in hex, the JSON of protobuf all bytes in base64."""
    return with_ids(tree, lambda text: base64.b64encode(bytes.fromhex(text)).decode())


def attributes(item):
    """Of a span, a link, a data point or a resource. A key that is there twice is an error."""
    values = {}
    for attribute in item.attributes:
        assert attribute.key not in values, attribute.key
        value = attribute.value
        kind = value.WhichOneof("value")
        values[attribute.key] = ([v.string_value for v in value.array_value.values] if kind == "array_value"
                                 else getattr(value, kind))
    return values
