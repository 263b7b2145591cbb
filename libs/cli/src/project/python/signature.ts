/** The text of docs/examples/any-language/signature.py. Written by test/write-docs.ts. */
export const signatureText = `"""Signs the server's nonce with the key of a credentials file: Ed25519 (RFC 8032), with the standard library alone.

It is slow and not safe against others who measure its time on this machine. With the package nkeys or
cryptography, use that instead.
"""

import base64
import hashlib

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
BASE_Y = 4 * pow(5, P - 2, P) % P


def _base_x():
    square = (BASE_Y * BASE_Y - 1) * pow(D * BASE_Y * BASE_Y + 1, P - 2, P) % P
    root = pow(square, (P + 3) // 8, P)
    if (root * root - square) % P:
        root = root * pow(2, (P - 1) // 4, P) % P
    return P - root if root % 2 else root


def _add(a, b):
    """Adds two points in extended coordinates (X, Y, Z, T)."""
    e = (a[1] - a[0]) * (b[1] - b[0]) % P
    f = (a[1] + a[0]) * (b[1] + b[0]) % P
    g = 2 * a[3] * b[3] * D % P
    h = 2 * a[2] * b[2] % P
    w, x, y, z = f - e, h - g, h + g, f + e
    return (w * x % P, y * z % P, x * y % P, w * z % P)


BASE = (_base_x(), BASE_Y, 1, _base_x() * BASE_Y % P)


def _times(scalar):
    """Returns the multiple of the base point, as 32 bytes."""
    point, double = (0, 1, 1, 0), BASE
    while scalar:
        if scalar & 1:
            point = _add(point, double)
        double = _add(double, double)
        scalar >>= 1
    inverse = pow(point[2], P - 2, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _number(*parts):
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little") % L


def sign(seed, message):
    """Returns the signature of a message by a key of 32 bytes."""
    digest = hashlib.sha512(seed).digest()
    secret = int.from_bytes(digest[:32], "little") & (2**254 - 8) | 2**254
    public = _times(secret)
    nonce = _number(digest[32:], message)
    point = _times(nonce)
    answer = (nonce + _number(point, public, message) * secret) % L
    return point + answer.to_bytes(32, "little")


def seed_of(nkey):
    """Returns the 32 bytes of a seed of NATS, such as SUAM…: two bytes of kind, the seed, two of checksum."""
    return base64.b32decode(nkey + "=" * (-len(nkey) % 8))[2:34]
`;
