# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""exporters/otlp/grpc/grpc_plugin.h for Python: the library in a process that Ferret did not make."""
import ctypes


class Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]

    @classmethod
    def of(cls, data):
        return cls(data, len(data))


class Config(ctypes.Structure):
    _fields_ = [("target", Bytes), ("user_agent", Bytes), ("tls", ctypes.c_int), ("gzip", ctypes.c_int),
                ("quiet", ctypes.c_int), ("ca", Bytes), ("client_key", Bytes), ("client_certificate", Bytes),
                ("headers", ctypes.c_void_p), ("header_count", ctypes.c_size_t)]


class Outcome(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("reply_too_large", ctypes.c_int32), ("message", Bytes), ("details", Bytes),
                ("reply", Bytes)]


class Api(ctypes.Structure):
    _fields_ = [("abi_version", ctypes.c_uint32),
                ("open", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Config), ctypes.c_char_p, ctypes.c_size_t)),
                ("send", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, Bytes, ctypes.c_int64,
                                          ctypes.POINTER(Outcome))),
                ("cancel", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
                ("close", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]


class Client:
    def __init__(self, library, target):
        entry = ctypes.CDLL(library).ferret_otlp_grpc_entry
        entry.argtypes, entry.restype = [ctypes.c_uint32], ctypes.POINTER(Api)
        self.api = entry(1).contents
        error = ctypes.create_string_buffer(256)
        config = Config(target=Bytes.of(target.encode()), user_agent=Bytes.of(b"test"))
        self.handle = self.api.open(config, error, len(error))
        assert self.handle, error.value

    def send(self, method, body, seconds=30):
        """The status code and its message."""
        outcome = Outcome()
        self.api.send(self.handle, method.encode(), Bytes.of(body), int(seconds * 1e9), outcome)
        return outcome.code, ctypes.string_at(outcome.message.data, outcome.message.size).decode()

    def close(self):
        self.api.close(self.handle)
