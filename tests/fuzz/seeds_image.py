#!/usr/bin/env python3
"""Writes the images that tests/formats/image.c reads and fuzzing starts from:
tests/fuzz/seeds_image.py tests/fuzz/corpus/image

PNGs are 13 x 9; the pixel at (x, y) is red 17x + 5y, green 3x + 29y, blue 7xy, all modulo 256, and
grey ones have the red. JPEGs are 33 x 17 with the smooth 4x + 5y, 7x, 255 - 10y.
"""
import io
import os
import struct
import sys
import zlib

from PIL import Image

W, H = 13, 9


def rgb(x, y):
    return ((17 * x + 5 * y) % 256, (3 * x + 29 * y) % 256, 7 * x * y % 256)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, depth, colour, pixel, interlaced=False, before=b""):
    """pixel(x, y) gives samples of `depth` bits."""
    passes = [(0, 0, 1, 1)]
    if interlaced:
        passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    raw = b""
    for x0, y0, dx, dy in passes:
        for y in range(y0, height, dy) if x0 < width else ():
            samples = [s for x in range(x0, width, dx) for s in pixel(x, y)]
            bits = "".join(f"{s:0{depth}b}" for s in samples)
            bits += "0" * (-len(bits) % 8)
            raw += b"\0" + int(bits, 2).to_bytes(len(bits) // 8, "big")
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, int(interlaced))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + before + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")
    )


def wide(v):
    """16 bits that round to v."""
    return min(v * 257 + 100, 65535)


def pngs():
    yield "rgb8", png(W, H, 8, 2, rgb)
    yield "rgb8_interlaced", png(W, H, 8, 2, rgb, True)
    yield "rgb16", png(W, H, 16, 2, lambda x, y: [wide(v) for v in rgb(x, y)])
    yield "rgba8", png(W, H, 8, 6, lambda x, y: rgb(x, y) + (20 * x,))
    yield "rgba16_interlaced", png(W, H, 16, 6, lambda x, y: [wide(v) for v in rgb(x, y)] + [5000 * x], True)
    yield "grey8", png(W, H, 8, 0, lambda x, y: rgb(x, y)[:1])
    yield "grey16", png(W, H, 16, 0, lambda x, y: [wide(rgb(x, y)[0])])
    yield "grey_alpha8", png(W, H, 8, 4, lambda x, y: [rgb(x, y)[0], 255 - y])
    # One bit: a chessboard. A palette of 117 colours, one for each pixel, half of them transparent.
    yield "grey1", png(W, H, 1, 0, lambda x, y: [(x + y) % 2])
    colours = bytes(v for y in range(H) for x in range(W) for v in rgb(x, y))
    palette = chunk(b"PLTE", colours) + chunk(b"tRNS", bytes(60))
    yield "palette8", png(W, H, 8, 3, lambda x, y: [y * W + x], before=palette)
    yield "palette8_interlaced", png(W, H, 8, 3, lambda x, y: [y * W + x], True, palette)
    yield "huge", png(1, 1, 8, 0, lambda x, y: [0]).replace(
        chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)),
        chunk(b"IHDR", struct.pack(">IIBBBBB", 65536, 65536, 8, 0, 0, 0, 0)),
    )


def smooth(mode, **options):
    image = Image.new("RGB", (33, 17))
    for y in range(17):
        for x in range(33):
            image.putpixel((x, y), (4 * x + 5 * y, 7 * x, 255 - 10 * y))
    out = io.BytesIO()
    image.convert(mode).save(out, "jpeg", quality=95, optimize=True, **options)
    return out.getvalue()


def segment(marker, data):
    return b"\xff" + bytes([marker]) + struct.pack(">H", len(data) + 2) + data


def many_scans():
    """8 x 8 grey: one DC scan, then every AC coefficient twice, with one code each for nothing."""
    out = b"\xff\xd8" + segment(0xDB, b"\0" + b"\1" * 64) + segment(0xC2, bytes([8, 0, 8, 0, 8, 1, 1, 0x11, 0]))
    for table in (0x00, 0x10):
        out += segment(0xC4, bytes([table, 1] + [0] * 15 + [0]))
    for first, last, bits in [(0, 0, 0)] + [(k, k, b) for b in (0x01, 0x10) for k in range(1, 64)]:
        out += segment(0xDA, bytes([1, 1, 0, first, last, bits])) + b"\x7f"
    return out + b"\xff\xd9"


def jpegs():
    yield "rgb444", smooth("RGB", subsampling=0)
    yield "rgb420", smooth("RGB", subsampling=2)
    yield "progressive", smooth("RGB", subsampling=2, progressive=True)
    yield "grey", smooth("L")
    yield "cmyk", smooth("CMYK")
    yield "scans", many_scans()
    yield "huge", smooth("L").replace(bytes([8, 0, 17, 0, 33]), bytes([8, 255, 220, 255, 220]))


if __name__ == "__main__":
    for files, kind in (pngs(), "png"), (jpegs(), "jpg"):
        for name, data in files:
            with open(os.path.join(sys.argv[1], f"{name}.{kind}"), "wb") as f:
                f.write(data)
