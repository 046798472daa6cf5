"""Options in the URL of a database."""

from sqlalchemy import URL

from foreseal.payments.ledger.errors import OptionRefused

_SQLITE = "a SQLite URL has no options"


def check_options(url: URL) -> None:
    """Raise `OptionRefused` unless each option is a parameter of PostgreSQL connections (libpq), such as `sslmode`.

    SQLAlchemy passes any other option to the driver as text. psycopg 3.3 then runs without transactions
    (`autocommit=false` is a text, so it is true), or fails at a later statement (`prepare_threshold=0`).
    """
    options = sorted(url.query)
    if not options:
        return
    if url.get_backend_name() == "sqlite":
        raise OptionRefused(f"option {options[0]}: {_SQLITE}")
    # Only PostgreSQL needs the driver.
    from psycopg import pq

    known = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
    for option in options:
        if option not in known:
            said = "is not a connection parameter of PostgreSQL; the service sets the driver's own options"
            raise OptionRefused(f"option {option} {said}")
