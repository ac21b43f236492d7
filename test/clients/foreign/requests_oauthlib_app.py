"""A script that signs a user in, as the guide of requests-oauthlib shows it."""

import json
import sys

import requests
from requests_oauthlib import OAuth2Session

client = json.loads(sys.argv[1])
provider = requests.get(client["issuer"] + "/.well-known/openid-configuration").json()
secret = client.get("client_secret")
session = OAuth2Session(
    client["client_id"],
    scope=client["scope"].split(),
    redirect_uri=client["redirect_uri"],
    pkce=client.get("pkce"),
)
address, _ = session.authorization_url(provider["authorization_endpoint"])
print("OPEN " + address, flush=True)
token = session.fetch_token(
    provider["token_endpoint"],
    authorization_response=sys.stdin.readline().strip(),
    client_secret=secret,
    include_client_id=True if secret is None else None,
)
claims = session.get(provider["userinfo_endpoint"]).json()
auth = {"auth": (client["client_id"], secret)} if secret else {"client_id": client["client_id"]}
refreshed = session.refresh_token(provider["token_endpoint"], **auth)
userinfo = session.get(provider["userinfo_endpoint"]).json()
rotated = token["refresh_token"] != refreshed["refresh_token"]
print("RESULT " + json.dumps({"claims": claims, "userinfo": userinfo, "rotated": rotated}), flush=True)
