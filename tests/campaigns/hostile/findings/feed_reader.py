"""A follower on the client of a build: the Python of that build runs this file with URL, cursor and key.

It prints the block of each step as it arrives.
"""

import json
import sys

from foreseal.client import Client, Cursor, Options


def main() -> None:
    """Follow until killed."""
    url, cursor, key = sys.argv[1:4]
    options = Options(key=key or None)
    with Client(url, options) as client, client.feed(Cursor.read(json.loads(cursor))) as feed:
        for event in feed:
            print(event.flashblock.number, feed.connections, flush=True)


if __name__ == "__main__":
    main()
