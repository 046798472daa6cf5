"""Size of data after FastLZ compression, level 1.

Fjord's specification names `fastlz_compress` of FastLZ 0.5.0 (commit 344eb40), which compresses 65,536 bytes and more
at level 2. Other clients and the predeploy GasPriceOracle use level 1 for every length, and so does this model.
"""

TABLE_SIZE = 8192
MAX_DISTANCE = 8192
MAX_MATCH_LENGTH = 262
LITERALS_PER_RUN = 32


def compressed_size(data: bytes) -> int:
    """Return the number of bytes that level 1 writes for `data`."""
    limit = len(data) - 13
    positions = [0] * TABLE_SIZE
    position, anchor, size = 2, 0, 0
    while position < limit:
        match = _find_match(data, positions, position, limit)
        if match is None:
            break
        position, reference = match
        size += _literals_size(position - anchor)
        length = _match_length(data, reference + 3, position + 3)
        size += _match_size(length)
        position += length
        for _ in range(2):
            positions[_slot(data, position)] = position
            position += 1
        anchor = position
    return size + _literals_size(len(data) - anchor)


def _find_match(data: bytes, positions: list[int], position: int, limit: int) -> tuple[int, int] | None:
    """Return the next position with a match, and the position of the bytes that it repeats."""
    while position < limit:
        slot = _slot(data, position)
        reference, positions[slot] = positions[slot], position
        same = data[reference : reference + 3] == data[position : position + 3]
        if position - reference < MAX_DISTANCE and same:
            # The reference program rejects a match whose next position is the limit.
            return (position, reference) if position + 1 < limit else None
        position += 1
    return None


def _slot(data: bytes, position: int) -> int:
    sequence = int.from_bytes(data[position : position + 3], "little")
    return (sequence * 2654435769 >> 19) % TABLE_SIZE


def _match_length(data: bytes, reference: int, position: int) -> int:
    """Count equal bytes and the first that differs, up to four bytes before the end."""
    length = 0
    while position + length < len(data) - 4:
        length += 1
        if data[reference + length - 1] != data[position + length - 1]:
            break
    return length


def _literals_size(count: int) -> int:
    runs = -(-count // LITERALS_PER_RUN)
    return count + runs


def _match_size(length: int) -> int:
    size = 0
    while length > MAX_MATCH_LENGTH:
        size += 3
        length -= MAX_MATCH_LENGTH
    return size + (2 if length < 7 else 3)
