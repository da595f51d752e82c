"""Compression without files: zlib streams, gzip members, zip and tar archives."""
import gzip
import io
import tarfile
import zipfile
import zlib

text = "\n".join(f"row {n:04d},{n * n % 97},{'even' if n % 2 == 0 else 'odd'}" for n in range(800)).encode()
for name, module in (("zlib", zlib), ("gzip", gzip)):
    packed = module.compress(text)
    print(f"{name:<5} smaller={len(packed) < len(text) // 2} same={module.decompress(packed) == text}")
print(hex(zlib.crc32(b"hello")), hex(zlib.adler32(b"hello")), zlib.crc32(b"lo", zlib.crc32(b"hel")) == zlib.crc32(b"hello"))

# Streaming: feed odd-sized chunks in, cap what comes out, notice trailing bytes.
packer = zlib.compressobj(level=9, wbits=-15)
raw = b"".join([packer.compress(text[:1000]), packer.flush(zlib.Z_SYNC_FLUSH), packer.compress(text[1000:]), packer.flush()])
unpacker, out = zlib.decompressobj(wbits=-15), []
for at in range(0, len(raw), 77):
    chunk = raw[at:at + 77]
    while chunk:
        out.append(unpacker.decompress(chunk, 256))
        chunk = unpacker.unconsumed_tail
out.append(unpacker.flush())
print("stream:", b"".join(out) == text, unpacker.eof, max(map(len, out[:-1])) <= 256)
tail = zlib.decompressobj()
print(tail.decompress(zlib.compress(b"abc") + b"trailing"), tail.unused_data)

# gzip files may hold several members; the header has a place for the time and name.
buffer = io.BytesIO()
for part in (b"first\n", b"second\n", b"third"):
    with gzip.GzipFile(filename="part", mode="wb", fileobj=buffer, mtime=0) as member:
        member.write(part)
buffer.seek(0)
with gzip.open(buffer, "rt", encoding="ascii", newline="\n") as lines:
    print([line.rstrip() for line in lines], buffer.getvalue()[:4].hex())
for damage in (buffer.getvalue()[:-5], b"not gzip at all"):
    try:
        gzip.decompress(damage)
    except (EOFError, gzip.BadGzipFile) as exc:
        print("damaged:", type(exc).__name__)

archive = io.BytesIO()
with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr(zipfile.ZipInfo("b/data.csv", (2024, 1, 2, 3, 4, 6)), text)
    z.writestr(zipfile.ZipInfo("a.txt", (1980, 1, 1, 0, 0, 0)), "hello")
with zipfile.ZipFile(archive) as z:
    print(sorted(z.namelist()), z.getinfo("b/data.csv").file_size, z.getinfo("b/data.csv").date_time, z.read("a.txt"), z.testzip())
box = io.BytesIO()
with tarfile.open(fileobj=box, mode="w:gz") as t:
    info = tarfile.TarInfo("notes/x.txt")
    info.size = 5
    t.addfile(info, io.BytesIO(b"12345678"))
box.seek(0)
with tarfile.open(fileobj=box) as t:
    print([(m.name, m.size, m.isfile()) for m in t], t.extractfile("notes/x.txt").read())
