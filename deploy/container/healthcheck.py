"""Exit with 0 if the URL in the argument returns 200, otherwise with 1 and the reason."""

import sys
import urllib.error
import urllib.request

try:
    with urllib.request.urlopen(sys.argv[1], timeout=4):  # noqa: S310 - the URL is in the image
        pass
except urllib.error.HTTPError as error:
    sys.exit(error.read(1000).decode(errors="replace"))
except OSError as error:
    sys.exit(str(error))
