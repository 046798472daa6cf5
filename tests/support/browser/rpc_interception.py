"""Changes of JSON-RPC answers between a page and its node, for failures that a healthy node does not show."""

import json
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, Route

Answer = dict[str, Any]
"""Response object of one call."""


def alter_answers(page: Page, method: str, alter: Callable[[Answer], Answer]) -> None:
    """Pass each answer to a method through `alter`, in batches as well."""

    def handle(route: Route) -> None:
        request = route.request
        if request.method != "POST" or request.post_data is None:
            route.continue_()
            return
        sent = json.loads(request.post_data)
        calls = sent if isinstance(sent, list) else [sent]
        altered = {call["id"] for call in calls if call["method"] == method}
        if not altered:
            route.continue_()
            return
        response = route.fetch()
        body = response.json()
        answers = body if isinstance(body, list) else [body]
        changed = [alter(answer) if answer["id"] in altered else answer for answer in answers]
        route.fulfill(response=response, json=changed if isinstance(body, list) else changed[0])

    page.route(lambda url: url.endswith("/"), handle)


def fail_answers(page: Page, method: str, code: int, message: str, data: object = None) -> None:
    """Replace each answer to a method by an error object."""
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    alter_answers(page, method, lambda answer: {"jsonrpc": "2.0", "id": answer["id"], "error": error})
