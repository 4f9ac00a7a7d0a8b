"""What a sensible caller does and a random one does not."""

import itertools
import os

import requests
import schemathesis

calls = itertools.count()
# Ids of the keys this run is made with.
KEPT = os.environ.get("PORTEIRO_KEPT", "").split()


def seen_version(case, kwargs):
    """A caller who read the resource first sends its version. Every fourth change keeps the one that was made up, so
    that refusing it is looked at too."""
    if not case.headers or "If-Match" not in case.headers or next(calls) % 4 == 0:
        return
    sent = case.as_transport_kwargs(base_url=kwargs.get("base_url"))
    headers = {**sent.get("headers", {}), **(kwargs.get("headers") or {})}
    wanted = {name: value for name, value in headers.items() if name.lower() in ("authorization", "porteiro-reason")}
    seen = requests.get(sent["url"].split("?")[0], headers=wanted, timeout=10)
    if "ETag" in seen.headers:
        case.headers["If-Match"] = seen.headers["ETag"]


@schemathesis.hook
def before_call(context, case, kwargs):
    # Nobody saws off the branch they sit on.
    for name, value in (case.path_parameters or {}).items():
        if case.method.upper() == "DELETE" and value in KEPT:
            case.path_parameters[name] = "aaaaaaaaaaaa"
    seen_version(case, kwargs)
