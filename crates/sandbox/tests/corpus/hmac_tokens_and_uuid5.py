"""Signed tokens: hashlib, hmac, base64 variants, constant-time compare, uuid5."""
import base64
import binascii
import hashlib
import hmac
import json
import uuid

SECRET = b"not-so-secret"


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def sign(claims: dict) -> str:
    head = b64(json.dumps({"alg": "HS256", "typ": "JWT"}, separators=(",", ":")).encode())
    body = b64(json.dumps(claims, separators=(",", ":"), sort_keys=True).encode())
    mac = hmac.new(SECRET, f"{head}.{body}".encode(), hashlib.sha256)
    return f"{head}.{body}.{b64(mac.digest())}"


def verify(token: str, now: int) -> dict:
    try:
        head, body, given = token.split(".")
        signature = unb64(given)
    except (ValueError, binascii.Error):
        raise PermissionError("malformed") from None
    expected = hmac.digest(SECRET, f"{head}.{body}".encode(), "sha256")
    if not hmac.compare_digest(expected, signature):
        raise PermissionError("bad signature")
    claims = json.loads(unb64(body))
    if claims["exp"] <= now:
        raise PermissionError("expired")
    return claims


token = sign({"sub": "ana", "exp": 1000, "scope": ["read", "write"]})
print(token)
head, body, mac = token.split(".")
forged = f"{head}.{b64(unb64(body).replace(b'ana', b'bob'))}.{mac}"
for candidate, now in ((token, 999), (token, 1000), (forged, 1), ("a.b", 1), (f"{head}.{body}.A", 1)):
    try:
        print("ok", verify(candidate, now))
    except PermissionError as exc:
        print("refused:", exc)

for name in ("md5", "sha1", "sha256", "sha3_256", "blake2s"):
    print(f"{name:<9}{hashlib.new(name, b'abc').hexdigest()[:24]}")
running = hashlib.sha256()
for chunk in (b"a", b"", b"bc"):
    running.update(chunk)
fork = running.copy()
fork.update(b"!")
print(running.digest() == hashlib.sha256(b"abc").digest(), fork.hexdigest()[:8], running.digest_size, running.block_size)
print(hashlib.blake2b(b"x", digest_size=6, key=b"k").hexdigest())
print(base64.b32encode(b"hello").decode(), base64.b85encode(b"hello").decode(), base64.a85encode(b"\0\0\0\0hi").decode(), base64.b16encode(b"\xfe").decode())
site = uuid.uuid5(uuid.NAMESPACE_DNS, "example.org")
print(site, site.version, uuid.uuid5(site, "item/1"), uuid.uuid3(uuid.NAMESPACE_URL, "x").hex, uuid.UUID(int=5) < site)
