# SPDX-FileCopyrightText: The spice-accel authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The server's side of a SPICE ticket: RSA of 1024 bits, OAEP with SHA-1 (PKCS #1 v2.2)."""
import base64
import hashlib


def _tlv(data, at):
    """(tag, value, offset behind it) of one DER element."""
    tag, length, at = data[at], data[at + 1], at + 2
    if length & 0x80:
        count = length & 0x7f
        length = int.from_bytes(data[at:at + count], 'big')
        at += count
    return tag, data[at:at + length], at + length


def _pem(path):
    with open(path, encoding='ascii') as file:
        lines = [line.strip() for line in file if not line.startswith(('#', '-----'))]
    return base64.b64decode(''.join(lines))


def _der_int(value):
    raw = value.to_bytes(value.bit_length() // 8 + 1, 'big')
    return b'\x02' + _length(len(raw)) + raw


def _length(size):
    if size < 128:
        return bytes([size])
    raw = size.to_bytes((size.bit_length() + 7) // 8, 'big')
    return bytes([0x80 | len(raw)]) + raw


def _sequence(content, tag=0x30):
    return bytes([tag]) + _length(len(content)) + content


class Key:
    """A private key in PEM, PKCS #8 or PKCS #1."""

    def __init__(self, path):
        body = _tlv(_pem(path), 0)[1]
        _tag, _version, at = _tlv(body, 0)
        tag, _value, behind = _tlv(body, at)
        if tag == 0x30:  # PKCS #8: the algorithm, then the key in an octet string
            body = _tlv(_tlv(body, behind)[1], 0)[1]
            at = _tlv(body, 0)[2]
        numbers = []
        while at < len(body) and len(numbers) < 3:
            _tag, value, at = _tlv(body, at)
            numbers.append(int.from_bytes(value, 'big'))
        self.n, self.e, self.d = numbers
        self.size = (self.n.bit_length() + 7) // 8

    def public_der(self):
        """SubjectPublicKeyInfo, the 162 bytes a link reply carries for 1024 bits."""
        algorithm = bytes.fromhex('300d06092a864886f70d0101010500')
        key = _sequence(_der_int(self.n) + _der_int(self.e))
        return _sequence(algorithm + _sequence(b'\0' + key, 0x03))

    def decrypt(self, data):
        """The ticket, its final NUL removed; None when it is not one for this key."""
        block = pow(int.from_bytes(data, 'big'), self.d, self.n).to_bytes(self.size, 'big')
        seed_masked, masked = block[1:21], block[21:]
        seed = _xor(seed_masked, _mask(masked, 20))
        plain = _xor(masked, _mask(seed, len(masked)))
        rest = plain[20:].lstrip(b'\0')
        if block[0] or plain[:20] != hashlib.sha1(b'').digest() or rest[:1] != b'\x01':
            return None
        return rest[1:].rstrip(b'\0')


def _mask(seed, size):
    out = b''
    while len(out) < size:
        out += hashlib.sha1(seed + (len(out) // 20).to_bytes(4, 'big')).digest()
    return out[:size]


def _xor(left, right):
    return bytes(a ^ b for a, b in zip(left, right))
