"""A Flask application whose people sign in with Porteiro, with PyPI's authlib. Copy what you need.

APP_URL is its own address, ISSUER Porteiro's; CLIENT_ID and CLIENT_SECRET are what `porteiro clients create client.json`
printed. Tokens are kept in memory here, never in the cookie: an application of yours has a place for them.
"""

import hashlib
import os
import secrets
from urllib.parse import urlsplit

from authlib.integrations.flask_client import OAuth
from flask import Flask, redirect, render_template_string, session

app = Flask(__name__)
app.secret_key = secrets.token_bytes(32)
app.config.update(SESSION_COOKIE_NAME="app", SESSION_COOKIE_SAMESITE="Lax")
here = os.environ["APP_URL"]
kept = {}

porteiro = OAuth(app).register(
    "porteiro",
    server_metadata_url=os.environ["ISSUER"] + "/.well-known/openid-configuration",
    client_id=os.environ["CLIENT_ID"],
    client_secret=os.environ["CLIENT_SECRET"],
    client_kwargs={"scope": "openid profile email", "code_challenge_method": "S256"},
)

PRIVATE = """<!doctype html><title>App</title><p id="name">{{ about.name }}</p><p id="email">{{ about.email }}</p>
<p id="sub">{{ about.sub }}</p><p id="token">{{ token }}</p><a href="/refresh">Refresh</a> <a href="/logout">Sign out</a>"""


@app.get("/")
def home():
    return '<!doctype html><title>App</title><a href="/private">Sign in</a>'


@app.get("/private")
def private():
    mine = kept.get(session.get("id"))
    if not mine:
        return porteiro.authorize_redirect(here + "/callback")
    about = porteiro.userinfo(token=mine)
    token = hashlib.sha256(mine["access_token"].encode()).hexdigest()[:12]
    return render_template_string(PRIVATE, about=about, token=token)


@app.get("/callback")
def callback():
    # Checks state, PKCE, nonce, and the ID token with its signature.
    tokens = porteiro.authorize_access_token()
    session.clear()
    session["id"] = secrets.token_urlsafe()
    kept[session["id"]] = tokens
    return redirect("/private")


@app.get("/refresh")
def refresh():
    mine = kept.get(session.get("id"))
    if not mine:
        return redirect("/")
    # Every refresh token is good once. Keep the new one, and never send one twice.
    fresh = porteiro.fetch_access_token(grant_type="refresh_token", refresh_token=mine["refresh_token"])
    kept[session["id"]] = {**mine, **fresh}
    return redirect("/private")


@app.get("/logout")
def logout():
    mine = kept.pop(session.pop("id", None), None)
    if not mine:
        return redirect("/bye")
    return porteiro.logout_redirect(post_logout_redirect_uri=here + "/bye", id_token_hint=mine["id_token"])


@app.get("/bye")
def bye():
    # Refuses a sign-out that did not begin here.
    porteiro.validate_logout_response()
    return '<!doctype html><title>App</title>Signed out. <a href="/">Home</a>'


if __name__ == "__main__":
    app.run(host="127.0.0.1", port=urlsplit(here).port)
