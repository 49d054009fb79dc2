#!/bin/sh
# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
#
# Makes the certificates beside it anew. They are valid until 2125 and protect nothing: the keys are public. Needs openssl.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# `openssl ca` is what can set the first day of validity: machines whose clock is behind run the tests as well.
cat >"$work/ca.cnf" <<END
[ca]
default_ca = tests
[tests]
database = $work/index.txt
new_certs_dir = $work
serial = $work/serial
default_md = sha256
default_startdate = 20200101000000Z
default_enddate = 21250101000000Z
policy = any
unique_subject = no
[any]
commonName = supplied
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign
[server]
subjectAltName = DNS:localhost
[client]
extendedKeyUsage = clientAuth
END
: >"$work/index.txt"
echo 01 >"$work/serial"

made() { # NAME EXTENSIONS WITH_WHAT...: a key and a certificate
  name=$1 extensions=$2
  shift 2
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=Ferret tests $name" \
    -keyout "$work/$name.key" -out "$work/$name.csr"
  openssl ca -batch -config "$work/ca.cnf" -notext -extensions "$extensions" -in "$work/$name.csr" -out "$name.pem" "$@"
}

made ca authority -selfsign -keyfile "$work/ca.key"
made other_ca authority -selfsign -keyfile "$work/other_ca.key"
made server server -cert ca.pem -keyfile "$work/ca.key"
made client client -cert ca.pem -keyfile "$work/ca.key"
cp "$work/server.key" "$work/client.key" .
openssl ec -aes128 -passout pass:secret -in client.key -out client_encrypted.key
