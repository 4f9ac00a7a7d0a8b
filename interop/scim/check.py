"""scim2-tester against an organization. Prints as JSON how many checks passed, and those that failed or were skipped."""

import json
import os
import ssl

from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import Status, check_server

PASSED = {Status.SUCCESS, Status.COMPLIANT, Status.ACCEPTABLE}


def differing(data):
    """The parts in which values that came back are not those that were sent."""
    if not isinstance(data, dict) or not data.get("expected") or not data.get("actual"):
        return ""
    pairs = list(zip(data["expected"], data["actual"]))
    names = {name for sent, _ in pairs for name in type(sent).model_fields}
    differ = sorted(name for name in names if any(getattr(a, name) != getattr(b, name) for a, b in pairs))
    return f" ({', '.join(differ)})"


def told(result):
    """What it is about, without the random values."""
    reason = (result.reason or "").split("\n")[0]
    return f"{result.resource_type or 'Server'} {result.title}: {reason}{differing(result.data)}"


http = Client(
    base_url=os.environ["SCIM_URL"],
    headers={"Authorization": "Bearer " + os.environ["SCIM_KEY"]},
    verify=ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"]),
)
results = check_server(SyncSCIMClient(http))
passed = sum(result.status in PASSED for result in results)
skipped = [told(result) for result in results if result.status is Status.SKIPPED]
failed = [told(result) for result in results if result.status not in PASSED | {Status.SKIPPED}]
print(json.dumps({"passed": passed, "skipped": skipped, "failed": failed}))
