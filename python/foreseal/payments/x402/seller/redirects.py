"""Redirects of a router to another spelling of the requested URL."""

from urllib.parse import unquote, urljoin, urlsplit

from starlette.requests import Request

from foreseal.payments.x402.seller.grants import GrantedResponse
from foreseal.payments.x402.seller.route_paths import Reading

_SAME_METHOD = {307, 308}
_GET_AGAIN = {301, 302, 303}


def is_respelling(request: Request, answer: GrantedResponse) -> bool:
    """Return True if a response redirects the same request to another spelling of its URL.

    Nothing in it was paid for, and the request that follows it has the price again. All other
    redirects are what a handler sells, for example a signed URL.
    """
    if answer.status not in _SAME_METHOD and not (answer.status in _GET_AGAIN and request.method in ("GET", "HEAD")):
        return False
    location = next((value for name, value in answer.headers if name.lower() == "location"), None)
    if location is None:
        return False
    path, root = request.scope["path"], request.scope.get("root_path", "")
    try:
        target = urlsplit(urljoin(f"{request.url.scheme}://{request.url.netloc}", location))
    except ValueError:  # an invalid host
        return False
    query = request.scope["query_string"].decode("latin-1")
    if (target.netloc, target.query) != (request.url.netloc, query):
        return False
    return _folded(unquote(target.path)) in {_folded(path), _folded(root + path)}


def _folded(path: str) -> str:
    return Reading(path).normalized.casefold()
