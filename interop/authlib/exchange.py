"""An agent that acts for a person, with PyPI's authlib (RFC 8693). Copy what you need.

ISSUER is Porteiro's address; CLIENT_ID and CLIENT_SECRET are what `porteiro clients create agent.json` printed, and
SUBJECT_TOKEN is the access token that the person's application handed to the agent. Prints the answer as JSON.
"""

import json
import os

from authlib.integrations.requests_client import OAuth2Session

agent = OAuth2Session(os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"])
held = agent.fetch_token(
    os.environ["ISSUER"] + "/connect/token",
    grant_type="urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token=os.environ["SUBJECT_TOKEN"],
    subject_token_type="urn:ietf:params:oauth:token-type:access_token",
    scope=os.environ["SCOPE"],
)
about = agent.get(os.environ["ISSUER"] + "/connect/userinfo")
print(json.dumps({"token": held, "userinfo": about.json()}))
