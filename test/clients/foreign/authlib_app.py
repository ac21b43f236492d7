"""A Flask app with a button to sign in, as Authlib's guide shows it."""

import json
import sys

from authlib.integrations.flask_client import OAuth
from flask import Flask

client = json.loads(sys.argv[1])
app = Flask(__name__)
app.secret_key = "only this test"
farthing = OAuth(app).register(
    "farthing",
    client_id=client["client_id"],
    client_secret=client.get("client_secret"),
    server_metadata_url=client["issuer"] + "/.well-known/openid-configuration",
    client_kwargs={"scope": client["scope"], **client.get("client_kwargs", {})},
)


@app.get("/login")
def login():
    return farthing.authorize_redirect(client["redirect_uri"])


@app.get("/callback")
def callback():
    token = farthing.authorize_access_token()
    refreshed = farthing.fetch_access_token(grant_type="refresh_token", refresh_token=token["refresh_token"])
    return {
        "claims": token["userinfo"],
        "userinfo": farthing.userinfo(token=refreshed),
        "rotated": token["refresh_token"] != refreshed["refresh_token"],
    }


browser = app.test_client()
print("OPEN " + browser.get("/login").location, flush=True)
query = sys.stdin.readline().strip().split("?", 1)[1]
print("RESULT " + browser.get("/callback?" + query).text.replace("\n", " "), flush=True)
