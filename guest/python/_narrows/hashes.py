"""Key derivation for `hashlib`, which elsewhere comes from OpenSSL."""

import hashlib
import hmac


def pbkdf2_hmac(hash_name, password, salt, iterations, dklen=None):
    """Password-based key derivation, PKCS #5 v2.0."""
    if iterations < 1:
        raise ValueError("iteration value must be greater than 0.")
    keyed = hmac.new(bytes(password), digestmod=hash_name)
    length = keyed.digest_size if dklen is None else dklen
    if length < 1:
        raise ValueError("key length must be greater than 0.")
    derived = b""
    block = 0
    while len(derived) < length:
        block += 1
        value = total = _digest(keyed, bytes(salt) + block.to_bytes(4, "big"))
        total = int.from_bytes(total, "big")
        for _ in range(iterations - 1):
            value = _digest(keyed, value)
            total ^= int.from_bytes(value, "big")
        derived += total.to_bytes(keyed.digest_size, "big")
    return derived[:length]


def _digest(keyed, message: bytes) -> bytes:
    copy = keyed.copy()
    copy.update(message)
    return copy.digest()


def install() -> None:
    if not hasattr(hashlib, "pbkdf2_hmac"):
        hashlib.pbkdf2_hmac = pbkdf2_hmac
        hashlib.__all__ += ("pbkdf2_hmac",)
