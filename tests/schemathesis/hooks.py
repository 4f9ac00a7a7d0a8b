"""What a caller who read the resource first would send: its version. Every fourth change keeps the version that was made
up, so that refusing it is looked at too."""

import itertools

import requests
import schemathesis

calls = itertools.count()


@schemathesis.hook
def before_call(context, case, kwargs):
    if not case.headers or "If-Match" not in case.headers or next(calls) % 4 == 0:
        return
    sent = case.as_transport_kwargs(base_url=kwargs.get("base_url"))
    headers = {**sent.get("headers", {}), **(kwargs.get("headers") or {})}
    wanted = {name: value for name, value in headers.items() if name.lower() in ("authorization", "porteiro-reason")}
    seen = requests.get(sent["url"].split("?")[0], headers=wanted, timeout=10)
    if "ETag" in seen.headers:
        case.headers["If-Match"] = seen.headers["ETag"]
