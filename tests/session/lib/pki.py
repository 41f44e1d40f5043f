# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A certificate authority and a server certificate for 127.0.0.1, made for one test."""
import os
import shutil

from .scope import run, skip


class Pki:
    """dir holds ca-cert.pem, server-cert.pem, server-key.pem, the names spice-server uses."""

    def __init__(self, scope):
        if not shutil.which('openssl'):
            skip('openssl is not installed')
        self.dir = scope.path('pki')
        os.mkdir(self.dir)
        self.ca = os.path.join(self.dir, 'ca-cert.pem')
        self.cert = os.path.join(self.dir, 'server-cert.pem')
        self.key = os.path.join(self.dir, 'server-key.pem')
        self.subject = 'O=spice-accel test,CN=127.0.0.1'
        ca_key = os.path.join(self.dir, 'ca-key.pem')
        request = os.path.join(self.dir, 'server.csr')
        extensions = os.path.join(self.dir, 'server.ext')
        with open(extensions, 'w', encoding='ascii') as file:
            file.write('subjectAltName=IP:127.0.0.1,IP:::1,DNS:localhost\n')
        run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', ca_key,
             '-out', self.ca, '-days', '2', '-subj', '/O=spice-accel test/CN=test authority'])
        run(['openssl', 'req', '-newkey', 'rsa:2048', '-nodes', '-keyout', self.key,
             '-out', request, '-subj', '/O=spice-accel test/CN=127.0.0.1'])
        run(['openssl', 'x509', '-req', '-in', request, '-CA', self.ca, '-CAkey', ca_key,
             '-set_serial', '2', '-days', '2', '-out', self.cert, '-extfile', extensions])
