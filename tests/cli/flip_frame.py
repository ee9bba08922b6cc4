#!/usr/bin/env python3
"""Copies an archive with one bit changed in the middle of one frame: flip_frame.py FROM FRAME TO.

FRAME is a number from 0, or `restore` for the first frame that only restoring the original needs.
"""

import struct
import sys

PREFIX = 16  # sync word, length, checksum
TAG_RESTORE = 13 << 3 | 2


def main():
    source, wanted, target = sys.argv[1:]
    data = bytearray(open(source, "rb").read())
    at = number = 0
    while True:
        length = struct.unpack_from("<I", data, at + 4)[0]
        if wanted == str(number) or (wanted == "restore" and data[at + PREFIX] == TAG_RESTORE):
            break
        at += PREFIX + length
        number += 1
    data[at + PREFIX + length // 2] ^= 1
    open(target, "wb").write(data)


if __name__ == "__main__":
    main()
