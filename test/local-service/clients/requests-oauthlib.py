"""Runs the steps of an app that uses requests-oauthlib, for requests-oauthlib.test.ts.

Reads one line of JSON for each step: [name, argument]. Prints one line with the outcome, or {"refused": error} for an
OAuth error from the library. Arguments: how to send the client credentials ("body" or "basic"), and a JSON object
with the app and the URLs of the service.
"""

import json
import sys

from oauthlib.oauth2 import OAuth2Error
from requests_oauthlib import OAuth2Session

way, app = sys.argv[1], json.loads(sys.argv[2])
session = OAuth2Session(app["id"], redirect_uri=app["callback"], scope=app["scope"])

# By default, an exchange sends HTTP Basic and a refresh sends no credentials.
exchange_with, refresh_with = {
    "body": (
        {"include_client_id": True, "client_secret": app["secret"]},
        {"client_id": app["id"], "client_secret": app["secret"]},
    ),
    "basic": (
        {"client_secret": app["secret"]},
        {"auth": (app["id"], app["secret"])},
    ),
}[way]


def authorization_url(_):
    url, _state = session.authorization_url(app["authorize"])
    return url


def take_callback(address):
    # fetch_token() also checks the state.
    session.fetch_token(app["token"], authorization_response=address, **exchange_with)


def get(url):
    response = session.get(url)
    return {"status": response.status_code, "body": response.json()}


def refresh(_):
    # The library keeps the refresh token if the response has none.
    session.refresh_token(app["token"], **refresh_with)


steps = {step.__name__: step for step in (authorization_url, take_callback, get, refresh)}

for line in sys.stdin:
    name, argument = json.loads(line)
    try:
        outcome = steps[name](argument)
    except OAuth2Error as error:
        outcome = {"refused": error.error}
    print(json.dumps(outcome), flush=True)
