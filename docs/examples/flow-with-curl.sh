#!/usr/bin/env bash
# Runs the OAuth flow against the local service (docs/local-service.md) with curl alone. The script signs in, allows access
# and exchanges the code. It then lists the workspaces before and after a refresh.
#
#   npm run service                       # in one terminal
#   docs/examples/flow-with-curl.sh       # in another
#
# The defaults match `npm run service`. To change them, set SERVICE_URL, CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, SCOPES,
# ACCOUNT, PASSWORD or LIMIT. For a demo on other ports, set SERVICE_URL and REDIRECT_URI. Requires bash, curl and
# sha256sum (coreutils).
#
# After a failure, the script exits with a code other than 0 and prints the failed step. Run this script only with the
# demo credentials and on your own machine, because other users can read curl's arguments in the process list.
set -euo pipefail

service=${SERVICE_URL:-http://127.0.0.1:4000}
client_id=${CLIENT_ID:-demo-app}
client_secret=${CLIENT_SECRET:-demo-secret}
redirect_uri=${REDIRECT_URI:-http://localhost:3000/auth/callback}
scopes=${SCOPES:-room:read room:write workspace:read}
account=${ACCOUNT:-demo}
password=${PASSWORD:-demo}
limit=${LIMIT:-50}

authorize="$service/api/public/v1/authorization/oauth2/" # the trailing slash is required
token="${authorize}token"
workspaces="$service/api/public/v1/workspaces"

work=''
finish() {
  local code=$?
  [ -z "$work" ] || rm -rf "$work"
  [ "$code" -eq 0 ] || echo "flow-with-curl.sh: could not $step" >&2
}
trap finish EXIT

step='create a folder for temporary files'
work=$(mktemp -d)

# Sends one request. Puts the response into $work/body, $status and $location, and the URL of the request into $url.
send_request() {
  local result
  : >"$work/body"
  result=$(curl --silent --show-error --max-time 30 --output "$work/body" \
    --write-out '%{http_code} %{url_effective} %{redirect_url}' "$@")
  read -r status url location <<<"$result"
}

# Sends a request as the browser, with cookies. Requests as the app have no cookies.
browse() {
  send_request --cookie "$work/cookies" --cookie-jar "$work/cookies" "$@"
}

fail() { echo "$1" >&2; exit 1; }

# Unless the response has status $1, prints its JSON, or the heading and first paragraph of its page, and exits.
require_status() {
  [ "$status" = "$1" ] && return
  sed -n -e '/^{/p' -e 's/.*<h1>\(.*\)<\/h1>.*/\1/p' -e 's/.*<p class="lead">\(.*\)<\/p>.*/\1/p' "$work/body" >&2
  echo >&2
  fail "The response was $status $location"
}

# Prints the hidden field that binds a form to this browser and this request.
form_token() {
  sed -n 's/.*name="form_token" value="\([^"]*\)".*/\1/p' "$work/body"
}

# Prints a string member of the JSON response. The string must not contain escapes.
member() {
  sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p' "$work/body"
}

# Prints a query parameter of $location.
parameter() {
  printf '%s\n' "$location" | sed -n "s/.*[?&]$1=\([^&]*\).*/\1/p"
}

# Reads all pages of the list with the access token $1. Puts the number of items into $count. The last page has no `next`.
walk() {
  local next='' pages=0
  : >"$work/ids"
  while [ -n "$next" ] || [ "$pages" -eq 0 ]; do
    # Every page requires the same `limit`.
    send_request --get "$workspaces" --header "Authorization: Bearer $1" --data-urlencode "limit=$limit" \
      ${next:+--data-urlencode "next=$next"}
    require_status 200
    grep -o '"id":"[^"]*"' "$work/body" >>"$work/ids" || [ $? -eq 1 ] # 1: the page has no items
    next=$(member next)
    pages=$((pages + 1))
  done
  count=$(sort -u "$work/ids" | wc -l | tr -d ' ')
  echo "Listed $count workspaces (pages: $pages)."
}

base64url() {
  base64 | tr -d '\n=' | tr '+/' '-_'
}

step='create state, PKCE verifier and challenge (RFC 7636 §4)'
state=$(head -c 16 /dev/urandom | base64url)
verifier=$(head -c 32 /dev/urandom | base64url)
digest=$(printf '%s' "$verifier" | sha256sum | sed 's/ .*//; s/../\\x&/g')
challenge=$(printf '%b' "$digest" | base64url)

step='open the sign-in page'
browse --get "$authorize" --data-urlencode 'response_type=code' \
  --data-urlencode "client_id=$client_id" --data-urlencode "redirect_uri=$redirect_uri" \
  --data-urlencode "scope=$scopes" --data-urlencode "state=$state" \
  --data-urlencode "code_challenge=$challenge" --data-urlencode 'code_challenge_method=S256'
require_status 200
page=$url # both forms are posted to their own URL

step="sign in as $account"
browse "$page" --data-urlencode "form_token=$(form_token)" --data-urlencode 'step=sign-in' \
  --data-urlencode "username=$account" --data-urlencode "password=$password"
require_status 303
browse "$page"
require_status 200

step='allow the app'
browse "$page" --data-urlencode "form_token=$(form_token)" --data-urlencode 'step=allow'
require_status 303
[ "$(parameter state)" = "$state" ] || fail "The response has another state: $location"
code=$(parameter code)
[ -n "$code" ] || fail "The response has no code: $location"
echo "$account has signed in and allowed $client_id."

step='exchange the code'
credentials=(--data-urlencode "client_id=$client_id" --data-urlencode "client_secret=$client_secret")
send_request "$token" "${credentials[@]}" --data-urlencode 'grant_type=authorization_code' \
  --data-urlencode "redirect_uri=$redirect_uri" --data-urlencode "code=$code" \
  --data-urlencode "code_verifier=$verifier"
require_status 200
access_token=$(member access_token)
refresh_token=$(member refresh_token)
[ -n "$access_token" ] && [ -n "$refresh_token" ] || fail 'The response lacks a token.'
echo 'Exchanged the code for tokens.'

step='list the workspaces'
walk "$access_token"
listed=$count

step='refresh'
send_request "$token" "${credentials[@]}" --data-urlencode 'grant_type=refresh_token' \
  --data-urlencode "refresh_token=$refresh_token"
require_status 200
new_access_token=$(member access_token)
[ -n "$new_access_token" ] && [ "$new_access_token" != "$access_token" ] || fail 'The response has no new access token.'
echo 'Refreshed the access token.'

step='list the workspaces with the new access token'
walk "$new_access_token"
[ "$count" = "$listed" ] || fail "The first list had $listed workspaces."
