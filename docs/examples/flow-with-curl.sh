#!/usr/bin/env bash
# The whole OAuth flow against the local service (docs/local-service.md), with nothing but curl: sign in and allow as
# a browser does, exchange the code, walk a paginated list, refresh, and walk it again.
#
#   npm run service                       # in one terminal
#   docs/examples/flow-with-curl.sh       # in another
#
# The defaults fit it. For others set SERVICE_URL, CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, SCOPES, ACCOUNT, PASSWORD,
# LIMIT; beside a demo on another port, SERVICE_URL and REDIRECT_URI. It needs bash, curl and sha256sum (coreutils).
#
# Ends with 0, or with another code and the step that failed. Made for known credentials on your own machine: what curl
# gets as an argument, every user of the machine can read in the list of processes.
set -euo pipefail

service=${SERVICE_URL:-http://127.0.0.1:4000}
client_id=${CLIENT_ID:-demo-app}
client_secret=${CLIENT_SECRET:-demo-secret}
redirect_uri=${REDIRECT_URI:-http://localhost:3000/auth/callback}
scopes=${SCOPES:-room:read room:write workspace:read}
account=${ACCOUNT:-demo}
password=${PASSWORD:-demo}
limit=${LIMIT:-50}

authorize="$service/api/public/v1/authorization/oauth2/" # the slash at the end belongs to it
token="${authorize}token"
workspaces="$service/api/public/v1/workspaces"

work=''
finish() {
  local code=$?
  [ -z "$work" ] || rm -rf "$work"
  [ "$code" -eq 0 ] || echo "flow-with-curl.sh: could not $step" >&2
}
trap finish EXIT

step='make a folder for temporary files'
work=$(mktemp -d)

# One request. Leaves its response in $work/body, $status and $location, and its own address in $url.
ask() {
  local told
  : >"$work/body"
  told=$(curl --silent --show-error --max-time 30 --output "$work/body" \
    --write-out '%{http_code} %{url_effective} %{redirect_url}' "$@")
  read -r status url location <<<"$told"
}

# As the browser, which keeps cookies; the app, which asks for tokens and lists, has none.
browse() {
  ask --cookie "$work/cookies" --cookie-jar "$work/cookies" "$@"
}

fail() { echo "$1" >&2; exit 1; }

# Goes on after a response with this status only. Otherwise prints the JSON, or the headline and first words of a page.
require_status() {
  [ "$status" = "$1" ] && return
  sed -n -e '/^{/p' -e 's/.*<h1>\(.*\)<\/h1>.*/\1/p' -e 's/.*<p class="lead">\(.*\)<\/p>.*/\1/p' "$work/body" >&2
  echo >&2
  fail "The response was $status $location"
}

# What makes a form good in this browser and for this request only: its hidden field.
form_token() {
  sed -n 's/.*name="form_token" value="\([^"]*\)".*/\1/p' "$work/body"
}

# A string member of the JSON response. The strings here have no escapes.
member() {
  sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p' "$work/body"
}

# A query parameter of $location.
parameter() {
  printf '%s\n' "$location" | sed -n "s/.*[?&]$1=\([^&]*\).*/\1/p"
}

# Walks the list with the access token $1, up to the page without a `next`. Leaves in $count how many items it has.
walk() {
  local next='' pages=0
  : >"$work/ids"
  while [ -n "$next" ] || [ "$pages" -eq 0 ]; do
    # Every page takes the same `limit`.
    ask --get "$workspaces" --header "Authorization: Bearer $1" --data-urlencode "limit=$limit" \
      ${next:+--data-urlencode "next=$next"}
    require_status 200
    grep -o '"id":"[^"]*"' "$work/body" >>"$work/ids" || [ $? -eq 1 ] # 1: none, which a list may have
    next=$(member next)
    pages=$((pages + 1))
  done
  count=$(sort -u "$work/ids" | wc -l | tr -d ' ')
  echo "Listed $count workspaces (pages: $pages)."
}

base64url() {
  base64 | tr -d '\n=' | tr '+/' '-_'
}

step='make state, PKCE verifier and challenge (RFC 7636 §4)'
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
page=$url # both forms are posted to the very address that shows them

step="sign in as $account"
browse "$page" --data-urlencode "form_token=$(form_token)" --data-urlencode 'step=sign-in' \
  --data-urlencode "username=$account" --data-urlencode "password=$password"
require_status 303
browse "$page"
require_status 200

step='allow the app'
browse "$page" --data-urlencode "form_token=$(form_token)" --data-urlencode 'step=allow'
require_status 303
[ "$(parameter state)" = "$state" ] || fail "This is not the state that was sent: $location"
code=$(parameter code)
[ -n "$code" ] || fail "There is no code: $location"
echo "$account has signed in and allowed $client_id."

step='exchange the code'
credentials=(--data-urlencode "client_id=$client_id" --data-urlencode "client_secret=$client_secret")
ask "$token" "${credentials[@]}" --data-urlencode 'grant_type=authorization_code' \
  --data-urlencode "redirect_uri=$redirect_uri" --data-urlencode "code=$code" \
  --data-urlencode "code_verifier=$verifier"
require_status 200
access_token=$(member access_token)
refresh_token=$(member refresh_token)
[ -n "$access_token" ] && [ -n "$refresh_token" ] || fail 'The response does not have both tokens.'
echo 'Exchanged the code for tokens.'

step='list the workspaces'
walk "$access_token"
listed=$count

step='refresh'
ask "$token" "${credentials[@]}" --data-urlencode 'grant_type=refresh_token' \
  --data-urlencode "refresh_token=$refresh_token"
require_status 200
renewed_token=$(member access_token)
[ -n "$renewed_token" ] && [ "$renewed_token" != "$access_token" ] || fail 'There is no new access token.'
echo 'Refreshed the access token.'

step='list the workspaces with the new access token'
walk "$renewed_token"
[ "$count" = "$listed" ] || fail "It was $listed before."
