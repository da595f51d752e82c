"""A binary file format in memory: struct packing, memoryview, checksums, errors."""
import io
import struct
import zlib
from array import array
from typing import NamedTuple

HEADER = struct.Struct("<4sHHI")
RECORD = struct.Struct("<I8sfb?x")


class Record(NamedTuple):
    ident: int
    name: str
    weight: float
    delta: int
    active: bool


def write(records):
    body = io.BytesIO()
    for r in records:
        body.write(RECORD.pack(r.ident, r.name.encode(), r.weight, r.delta, r.active))
    payload = body.getvalue()
    return HEADER.pack(b"REC1", 1, len(records), zlib.crc32(payload)) + payload


def read(blob):
    magic, version, count, crc = HEADER.unpack_from(blob)
    if magic != b"REC1":
        raise ValueError(f"bad magic {magic}")
    view = memoryview(blob)[HEADER.size:]
    if zlib.crc32(view) != crc:
        raise ValueError("checksum mismatch")
    for fields in RECORD.iter_unpack(view[:count * RECORD.size]):
        record = Record._make(fields)
        yield record._replace(name=record.name.rstrip(b"\0").decode())


records = [Record(1, "bolt", 0.5, -1, True), Record(2**32 - 1, "longername", 1.1, 127, False), Record(3, "", -0.0, 0, True)]
blob = write(records)
print(HEADER.size, RECORD.size, len(blob), blob[:12].hex(" "))
for r in read(blob):
    print(r)
damaged = bytearray(blob)
damaged[-2] ^= 0x01
for bad in (damaged, b"XXXX" + blob[4:]):
    try:
        list(read(bad))
    except ValueError as exc:
        print("rejected:", exc)

print(struct.pack(">hHiQ", -2, 65534, 1 << 20, 2**40).hex(), struct.unpack(">h", b"\xff\xfe"), struct.calcsize("<bq"), struct.calcsize(">3sI"))
print(struct.pack("<5s", b"abcdefg"), struct.pack("4p", b"xyz"), struct.unpack("<2h3x?", b"\1\0\2\0zzz\1"), struct.pack("<e", 1.5).hex())
for fmt, value in (("<B", 256), ("<h", 40000), ("<I", -1), ("<i", 1.5)):
    try:
        struct.pack(fmt, value)
    except struct.error:
        print("no room in", fmt, end="; ")
print()
view = memoryview(bytearray(range(8)))
view[2:4] = b"\xff\xff"
print(view.cast("B", shape=[2, 4]).tolist(), view[::2].tobytes().hex(), view.readonly, memoryview(b"x").readonly)
numbers = array("h", [1, -2, 300])
numbers.extend([4])
print(numbers.itemsize, numbers.tolist(), (1000).to_bytes(2, "little"), int.from_bytes(b"\xff\x00", "big", signed=True), (-5).to_bytes(2, "big", signed=True).hex())
