#!/bin/sh
# Spellings of a path that routers of Python frameworks treat as one route.
#
# Each application has one route, /report. Requests with other spellings go to it as ASGI scopes, as a server passes
# them.
#
# Versions: starlette 1.10.0, litestar 2.25.0, quart 0.22.0, falcon 4.4.0, blacksheep 2.6.4, Python 3.11.
# Run: sh findings/router-path-spellings.sh (needs python3 with venv, and PyPI). Exits with 1 if the output changes.
#
# Behaviour that is easy to guess wrong:
# * Litestar has no redirect for slashes: /report/, //report and /report// are served as /report.
# * Quart and Falcon serve //report, but not /report/; Starlette redirects /report/ and BlackSheep serves it.
# * BlackSheep ignores case.
# * Falcon does not remove `root_path`.
#
# Output:
#
# path                     root_path  starlette  litestar   quart      falcon     blacksheep
# '/report'                           200        200        200        200        200
# '/report/'                          307        200        404        404        200
# '//report'                          404        200        200        200        404
# '/report//'                         307        200        404        404        404
# '/REPORT'                           404        404        404        404        200
# '/api/report'            /api       200        200        200        404        200
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    starlette==1.10.0 litestar==2.25.0 quart==0.22.0 falcon==4.4.0 blacksheep==2.6.4
cat > "$folder/spellings.py" <<'PYTHON'
import asyncio
import logging

import blacksheep
import falcon.asgi
import litestar
import quart
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

logging.disable(logging.CRITICAL)
REQUESTS = [
    ("/report", ""), ("/report/", ""), ("//report", ""), ("/report//", ""), ("/REPORT", ""), ("/api/report", "/api"),
]


class Report:
    async def on_get(self, request, response):
        response.text = "report"


@litestar.get("/report")
async def report() -> str:
    return "report"


async def applications():
    quart_app, falcon_app = quart.Quart("report", static_folder=None), falcon.asgi.App()

    @quart_app.get("/report")
    async def quart_report():
        return "report"

    falcon_app.add_route("/report", Report())
    router = blacksheep.Router()
    router.add_get("/report", lambda: blacksheep.text("report"))
    blacksheep_app = blacksheep.Application(router=router)
    await blacksheep_app.start()
    return {
        "starlette": Starlette(routes=[Route("/report", lambda request: PlainTextResponse("report"))]),
        "litestar": litestar.Litestar([report], openapi_config=None),
        "quart": quart_app,
        "falcon": falcon_app,
        "blacksheep": blacksheep_app,
    }


async def status(app, path, root):
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": path, "raw_path": path.encode(), "root_path": root, "query_string": b"",
        "headers": [(b"host", b"shop.test")], "server": ("shop.test", 80), "client": ("192.0.2.1", 1), "state": {},
    }
    messages, sent = [{"type": "http.request", "body": b"", "more_body": False}], []

    async def receive():
        if not messages:
            await asyncio.Event().wait()
        return messages.pop()

    async def send(message):
        sent.append(message)

    try:
        await app(scope, receive, send)
    except Exception as error:
        return type(error).__name__
    return str(sent[0]["status"])


async def main():
    apps = await applications()
    print(f"{'path':25}{'root_path':11}" + "".join(f"{name:11}" for name in apps).rstrip())
    for path, root in REQUESTS:
        found = [await status(app, path, root) for app in apps.values()]
        print(f"{path!r:25}{root:11}" + "".join(f"{each:11}" for each in found).rstrip())


asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/spellings.py" > "$folder/found"
sed -n '/^# Output:$/,/^set -eu$/p' "$0" | sed -n 's/^# //p' | sed 1d > "$folder/expected"
cat "$folder/found"
diff "$folder/expected" "$folder/found"
