"""Stands in for rules_cc: Debian's own copy does not load under its Bazel, and the native rules do all that is needed."""

cc_library = native.cc_library
cc_binary = native.cc_binary
cc_test = native.cc_test
cc_import = native.cc_import
cc_proto_library = native.cc_proto_library
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
fdo_profile = native.fdo_profile
objc_library = native.objc_library

def cc_libc_top_alias(**kwargs):
    native.alias(**kwargs)
