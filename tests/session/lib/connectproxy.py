# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""An HTTP proxy that knows CONNECT and nothing else, on a free loopback port."""
import socket
import threading


class ConnectProxy:
    def __init__(self, scope):
        self.tunnels = 0
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.url = 'http://127.0.0.1:%d' % self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        scope.defer(self.listener.close)

    def _accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client:
            head = b''
            while not head.endswith(b'\r\n\r\n') and len(head) < 8192:
                byte = client.recv(1)
                if not byte:
                    return
                head += byte
            words = head.split()
            if len(words) < 2 or words[0] != b'CONNECT':
                client.sendall(b'HTTP/1.0 405 Method Not Allowed\r\n\r\n')
                return
            host, _, port = words[1].decode().rpartition(':')
            try:
                server = socket.create_connection((host.strip('[]'), int(port)), 10)
            except (OSError, ValueError):
                client.sendall(b'HTTP/1.0 502 Bad Gateway\r\n\r\n')
                return
            server.settimeout(None)
            self.tunnels += 1
            with server:
                client.sendall(b'HTTP/1.0 200 Connection established\r\n\r\n')
                back = threading.Thread(target=pump, args=(server, client), daemon=True)
                back.start()
                pump(client, server)
                back.join()


def pump(source, sink):
    """Bytes from one socket to the other until the end, which is passed on."""
    try:
        while True:
            data = source.recv(65536)
            if not data:
                break
            sink.sendall(data)
    except OSError:
        pass
    try:
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass
