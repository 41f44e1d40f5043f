#!/bin/sh
# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Makes a throw-away certificate authority and a server certificate for tests:
#   certs.sh DIR [HOST]
# DIR, made if it is not there, gets ca-cert.pem, server-cert.pem and server-key.pem, as keydraw-server
# --tls-dir and qemu's x509-dir expect them; a viewer needs ca-cert.pem. HOST defaults to localhost; the
# certificate is good for localhost, 127.0.0.1 and ::1 as well. Its subject is "O=spice-accel,CN=HOST".
set -eu

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    echo "usage: certs.sh DIR [HOST]" >&2
    exit 2
fi
dir=$1
host=${2:-localhost}
mkdir -p "$dir"
cd "$dir"
umask 077
trap 'rm -f ca-key.pem server-csr.pem server-ext.cnf ca-cert.srl openssl.log' EXIT

run() {
    if ! openssl "$@" >openssl.log 2>&1; then
        echo "certs.sh: openssl $1 failed:" >&2
        cat openssl.log >&2
        exit 1
    fi
}

run req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 \
    -subj "/O=spice-accel/CN=spice-accel test CA" -keyout ca-key.pem -out ca-cert.pem
run req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
    -subj "/O=spice-accel/CN=$host" -keyout server-key.pem -out server-csr.pem
cat >server-ext.cnf <<EXT
basicConstraints = CA:FALSE
extendedKeyUsage = serverAuth
subjectAltName = DNS:$host, DNS:localhost, IP:127.0.0.1, IP:::1
EXT
run x509 -req -in server-csr.pem -CA ca-cert.pem -CAkey ca-key.pem -CAcreateserial -days 30 \
    -extfile server-ext.cnf -out server-cert.pem
