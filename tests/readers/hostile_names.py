# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Names that break writers of JSON."""
import codecs
import random
import struct

codecs.register_error("ferret_one_for_each_byte", lambda error: ("\ufffd", error.start + 1))


def shown(name):
    """What a reader sees: well-formed UTF-8 as it is, every other byte as U+FFFD."""
    return name.decode("utf-8", errors="ferret_one_for_each_byte")


def _random_names(count):
    draw = random.Random(1)
    # Bytes that begin, continue or break sequences come up often.
    pool = [0x00, 0x22, 0x5c, 0x7f, 0x80, 0xbf, 0xc0, 0xc2, 0xe0, 0xed, 0xf0, 0xf4, 0xf5, 0xff, *range(256)]
    return [bytes(draw.choices(pool, k=draw.randint(1, 12))) for _ in range(count)]


NAMES = list(dict.fromkeys([
    b"",
    *(bytes([byte]) for byte in range(256)),
    bytes(range(256)),
    b'"quoted"', b"back\\slash", b"\\", b'\\"', b"two\nlines\r\n", b"tab\there", b"\x7f", b"a/b", b"%s%n", b"</script>",
    b"\\u0041", b"null", b"{}", b"[1,2]", b"  blanks  ", b",\n", b"},\n    {", b"]}",
    "größer", "前向传播", "😀 emoji", "\u2028\u2029", "\ufffd", "\ufeffbom", "\ud7ff\ue000\U0010ffff",
    b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xf0\x9f\x98", b"ok\xffok",
    b"\xe2\x82\xac\xe2\x82",
    b"x" * 10000, b'"' * 10000, b"\\" * 10000, b"\x01" * 10000, b"\xff" * 10000, "é".encode() * 5000,
    *_random_names(500),
]))
NAMES = [name.encode() if isinstance(name, str) else name for name in NAMES]


def as_input(names):
    """What the program record_names reads."""
    return b"".join(struct.pack("<I", len(name)) + name for name in names)
