#!/usr/bin/env bash
# The behaviours of ../BEHAVIOUR.md that are marked "all", with nothing but curl: what a language without a client has to send,
# and what it is answered. Needs bash, curl, and jq to read JSON.
#
#   ./behaviour.sh          runs all of them, several at a time
#   ./behaviour.sh 01 15    runs these
set -u

: "${GATEWAY_URL:?The variables are those of ../BEHAVIOUR.md.}" "${GATEWAY_TOKEN:?}" "${GATEWAY_READ_TOKEN:?}"
: "${GATEWAY_LOSSY_URL:?}" "${GATEWAY_AWAY_URL:?}" "${GATEWAY_TOPIC_PREFIX:?}"

at_once=8

# Longest time in which something has to come; it comes much sooner.
patiently='{"wait": "15s"}'

# --- Asking, and looking at the answer ---------------------------------------------------------------------------------------

# call METHOD PATH [BODY] [ARGUMENT OF CURL ...]: leaves $answer and $status.
call() {
  local method=$1 path=$2 body=${3-} answered
  shift $(($# < 3 ? $# : 3))
  local arguments=(-sS --max-time 60 -X "$method" -H "Authorization: Bearer ${token:-$GATEWAY_TOKEN}" -w '\n%{http_code}')
  [ -n "$body" ] && arguments+=(-H 'Content-Type: application/json' --data-binary @-)
  answered=$(curl "${arguments[@]}" "$@" "${url:-$GATEWAY_URL}$path" 2>&1 <<<"$body")
  answer=${answered%$'\n'*}
  status=${answered##*$'\n'}
}

# try METHOD PATH BODY KEY: one try of a request on the way that loses answers.
try() {
  url=$GATEWAY_LOSSY_URL call "$1" "$2" "$3" -H "Idempotency-Key: $4"
}

# of FILTER: a part of the answer.
of() {
  jq -rc "$1" <<<"$answer" 2>/dev/null || echo 'nothing'
}

# is FILTER EXPECTED: ends the test if that part of the answer is another.
is() {
  local found
  found=$(of "$1")
  [ "$found" = "$2" ] || fail "$1 is $found, and not $2, in the answer $status $answer"
}

status_is() {
  [ "$status" = "$1" ] || fail "the status is $status, and not $1: $answer"
}

fail() {
  echo "not ok B$number - $(tr '\n' ' ' <<<"$*" | cut -c 1-500)"
  exit 1
}

xs() { head -c "$1" /dev/zero | tr '\0' x; }

now() { date +%s%3N; }

# took_at_least MILLISECONDS BEGIN
took_at_least() {
  local took=$(($(now) - $2))
  [ "$took" -ge "$1" ] || fail "it took $took ms, and not $1"
}

# --- What several of them do -------------------------------------------------------------------------------------------------

publish() { call POST "/v1/topics/$topic/messages" "$1" && status_is 201; }
settle() { call POST /v1/settle "$1" && status_is 200; }

# receive [BODY]: asks again if it is told to come again, as a gateway says that has only just begun.
receive() {
  for _ in 1 2 3 4 5; do
    call POST "/v1/topics/$topic/receive" "${1:-$patiently}"
    [ "$status" = 503 ] || break
    sleep 1
  done
  status_is 200
}

# nothing_comes [WAIT]
nothing_comes() { receive "{\"wait\": \"${1:-1s}\"}" && is '.messages | length' 0; }

# take [BODY]: receives one message and leaves its $receipt.
take() {
  receive "${1:-$patiently}"
  is '.messages | length' 1
  receipt=$(of '.messages[0].receipt')
}

# outcome RECEIPT OUTCOME STATUS [MORE]
outcome() {
  settle "{\"receipt\": \"$1\", \"outcome\": \"$2\"${4-}}"
  is .status "$3"
}

# --- The behaviours ----------------------------------------------------------------------------------------------------------

b01() {
  local at
  # So late that it is published before, on a busy host too.
  at=$(date -u -d '5 seconds' +%FT%T.000Z)
  publish "{\"payload\": {\"order\": 42, \"lines\": [1.5, null, \"x\"]}, \"id\": \"b01\", \"key\": \"shop\",
    \"headers\": {\"trace\": \"t-1\"}, \"deliverAt\": \"$at\"}"
  is '[.id, .topic, .dueAt]' "[\"b01\",\"$topic\",\"$at\"]"
  take
  is '.messages[0].payload' '{"order":42,"lines":[1.5,null,"x"]}'
  is '.messages[] | [.id, .topic, .key, .headers.trace, .attempt, .dueAt]' "[\"b01\",\"$topic\",\"shop\",\"t-1\",1,\"$at\"]"
  outcome "$receipt" ack settled
}

b02() {
  local begin
  begin=$(now)
  publish '{"payload": "later", "delay": "2s"}'
  take
  took_at_least 2000 "$begin"
}

b03() {
  publish '{"messages": [{"payload": 0, "id": "m0"}, {"payload": 1, "id": "m1"}]}'
  is '[.messages[].id]' '["m0","m1"]'
  call POST "/v1/topics/$topic/messages" \
    '{"messages": [{"payload": 2, "id": "m2"}, {"payload": 1, "id": "m1"}, {"payload": 3, "id": "m3"}]}'
  status_is 207
  is '[.messages[] | .id // .error.code]' '["m2","DUPLICATE_MESSAGE","m3"]'
  call GET "/v1/topics/$topic/stats"
  is .scheduled 4
}

b04() {
  publish '{"payload": "first", "id": "same", "delay": "1h"}'
  is .duplicate false
  local due
  due=$(of .dueAt)
  call POST "/v1/topics/$topic/messages" '{"payload": "second", "id": "same"}'
  status_is 409
  is .code DUPLICATE_MESSAGE
  publish '{"payload": "second", "id": "same", "onDuplicate": "ignore"}'
  is '[.duplicate, .dueAt]' "[true,\"$due\"]"
}

b05() {
  publish '{"payload": {"n": 5}, "id": "b05", "delay": "1h"}'
  call GET "/v1/topics/$topic/messages/b05"
  status_is 200
  is '[.state, .payload.n]' '["scheduled",5]'
  call GET "/v1/topics/$topic/messages/nobody"
  status_is 404
  is .code MESSAGE_NOT_FOUND
}

b06() {
  publish '{"payload": "no", "id": "b06", "delay": "500ms"}'
  call DELETE "/v1/topics/$topic/messages/b06"
  is .result cancelled
  call DELETE "/v1/topics/$topic/messages/b06"
  is .result not-found
  nothing_comes
}

b07() {
  publish '{"messages": [{"payload": 0, "delay": "1h", "tags": ["a"]}, {"payload": 1, "delay": "1h", "tags": ["a", "b"]},
    {"payload": 2, "delay": "1h", "tags": ["b"]}]}'
  call DELETE "/v1/topics/$topic/messages?tag=a"
  is '[.cancelled, .inFlight]' '[2,0]'
  call GET "/v1/topics/$topic/stats"
  is .scheduled 1
}

b08() {
  local begin
  publish '{"payload": "sooner", "id": "b08", "delay": "1h"}'
  begin=$(now)
  call PATCH "/v1/topics/$topic/messages/b08" '{"delay": "1s"}'
  is .result moved
  take
  took_at_least 1000 "$begin"
  call PATCH "/v1/topics/$topic/messages/nobody" '{"delay": "1s"}'
  is .result not-found
}

b09() {
  publish '{"payload": "once"}'
  take '{"wait": "15s", "lease": "5s"}'
  outcome "$receipt" ack settled
  outcome "$receipt" ack stale
  outcome "$receipt" retry stale
  # Longer than the lease was.
  nothing_comes 6s
}

b10() {
  local begin
  publish '{"payload": "again"}'
  take
  begin=$(now)
  outcome "$receipt" retry settled ', "delay": "1s", "reason": "not yet"'
  take
  is '.messages[0].attempt' 2
  took_at_least 1000 "$begin"
}

b11() {
  publish '{"payload": "hopeless", "id": "b11"}'
  take
  outcome "$receipt" dead settled ', "reason": "unknown customer"'
  call GET "/v1/topics/$topic/messages/b11"
  is '[.state, (.failure.message | contains("unknown customer"))]' '["dead",true]'
}

b12() {
  publish '{"payload": "not mine"}'
  take
  local begin
  outcome "$receipt" release settled
  take
  is '.messages[0].attempt' 1
  begin=$(now)
  outcome "$receipt" release settled ', "delay": "1s"'
  take
  is '.messages[0].attempt' 1
  took_at_least 1000 "$begin"
}

b13() {
  local begin
  publish '{"payload": "slow"}'
  take '{"wait": "15s", "lease": "6s"}'
  begin=$(now)
  call POST /v1/extend "{\"receipt\": \"$receipt\", \"lease\": \"9s\"}"
  is .status extended
  take
  took_at_least 9000 "$begin"
}

b14() {
  local first
  publish '{"payload": "orphan"}'
  # To be killed with a message in hand is no different from never asking again.
  take '{"wait": "15s", "lease": "2s"}'
  first=$receipt
  take
  is '.messages[0].payload' orphan
  outcome "$first" ack stale
  outcome "$receipt" ack settled
}

b15() {
  try POST "/v1/topics/$topic/messages" '{"payload": "without an id"}' 'b15 publish'
  [ "$status" = 000 ] || fail "the first try was answered: $answer"
  try POST "/v1/topics/$topic/messages" '{"payload": "without an id"}' 'b15 publish'
  status_is 201
  is .duplicate false
  take
  nothing_comes
}

b16() {
  publish '{"payload": "settled once"}'
  take
  try POST /v1/settle "{\"receipt\": \"$receipt\", \"outcome\": \"ack\"}" 'b16 settle'
  [ "$status" = 000 ] || fail "the first try was answered: $answer"
  try POST /v1/settle "{\"receipt\": \"$receipt\", \"outcome\": \"ack\"}" 'b16 settle'
  is .status settled
  outcome "$receipt" ack stale
}

b17() {
  publish '{"payload": "only once"}'
  receive '{"wait": "15s", "lease": 0}'
  is '[.messages[] | .payload, .lease]' '["only once",0]'
  nothing_comes
}

b18() {
  local first=$topic second=$GATEWAY_TOPIC_PREFIX.51 order=''
  topic=$second publish '{"messages": [{"payload": 1}, {"payload": 2}]}'
  publish '{"messages": [{"payload": 1}, {"payload": 2}]}'
  for _ in 1 2 3 4; do
    call POST /v1/receive "{\"topics\": [\"$first\", \"$second\"], \"wait\": \"15s\"}"
    order+="$(of '.messages[0].topic') "
  done
  [ "$order" = "$first $first $second $second " ] || fail "the order is $order"
}

b19() {
  publish "{\"payload\": \"$(xs 1048000)\"}"
  take
  is '.messages[0].payload | length' 1048000
  is '.messages[0].payload | test("^x+$")' true
  call POST "/v1/topics/$topic/messages" "{\"payload\": \"$(xs 1048576)\"}"
  status_is 413
  is .code PAYLOAD_TOO_LARGE
}

b20() {
  local begin
  begin=$(now)
  nothing_comes
  took_at_least 990 "$begin"
  (sleep 1 && publish '{"payload": "now"}') &
  begin=$(now)
  receive '{"wait": "30s"}'
  is '.messages[0].payload' now
  # If nothing woke it, it would end after 30 s, and with none.
  [ $(($(now) - begin)) -lt 15000 ] || fail "the wait ended after $(($(now) - begin)) ms"
  wait
}

b21() {
  local code=(INVALID_ARGUMENT UNAUTHORIZED FORBIDDEN TOPIC_NOT_SERVED BROKER_UNAVAILABLE) expected=(400 401 403 404 503) n=0
  for n in 0 1 2 3 4; do
    case $n in
      0) call POST "/v1/topics/$topic/messages" '{"payload": 1, "delay": -1}' ;;
      1) token=wrong call POST "/v1/topics/$topic/messages" '{"payload": 1}' ;;
      2) token=$GATEWAY_READ_TOKEN call POST "/v1/topics/$topic/messages" '{"payload": 1}' ;;
      3) call POST "/v1/topics/$topic.not-served/messages" '{"payload": 1}' ;;
      4) url=$GATEWAY_AWAY_URL call POST "/v1/topics/$topic/messages" '{"payload": 1}' ;;
    esac
    status_is "${expected[$n]}"
    is '[.code, .status, (.detail | length > 0)]' "[\"${code[$n]}\",${expected[$n]},true]"
  done
}

b22() {
  local receipts=() n
  publish '{"messages": [{"payload": 0}, {"payload": 1}, {"payload": 2}]}'
  for n in 0 1 2; do
    take
    receipts+=("$receipt")
  done
  outcome "${receipts[2]}" ack settled
  settle "{\"settlements\": [{\"receipt\": \"${receipts[0]}\", \"outcome\": \"ack\"},
    {\"receipt\": \"${receipts[1]}\", \"outcome\": \"dead\", \"reason\": \"never\"},
    {\"receipt\": \"${receipts[2]}\", \"outcome\": \"ack\"}]}"
  is '[.results[].status]' '["settled","settled","stale"]'
  is '[.results[].receipt]' "$(jq -nc '$ARGS.positional' --args "${receipts[@]}")"
}

b23() {
  publish '{"payload": "runs", "id": "r"}'
  take
  publish '{"messages": [{"payload": 1, "id": "w", "delay": "1h"}, {"payload": 2, "delay": "1h"}]}'
  call GET "/v1/topics/$topic/stats"
  is '[.scheduled, .inFlight, .dead, .counters.published]' '[2,1,0,3]'
  call GET "/v1/topics/$topic/messages/w/explain"
  is '[.cause, (.advice | length > 0)]' '["not-due",true]'
  call GET "/v1/topics/$topic/messages/r/explain"
  is .cause running
}

b24() {
  local odd encoded text
  odd=$'a/b c?d=e&f#%2F"\'\\ é 😀 中\n{}'
  encoded=$(jq -nr --arg odd "$odd" '$odd | @uri')
  text=$(jq -nc --arg odd "$odd" '$odd')
  publish "$(jq -nc --arg odd "$odd" \
    '{payload: {($odd): $odd}, id: $odd, key: "key \($odd)", headers: {note: $odd}, delay: "300ms"}')"
  call GET "/v1/topics/$topic/messages/$encoded?key=key%20$encoded"
  status_is 200
  take
  is '.messages[0] | [.id, .headers.note, (.payload | keys[0], .[keys[0]])] | unique' "[$text]"
  is '.messages[0] | .key == "key \(.id)"' true
}

b29() {
  local path=/v1/schedules/$topic
  call PUT "$path" "{\"topic\": \"$topic\", \"payload\": \"sales\", \"every\": \"1h\"}"
  status_is 200
  call GET "$path"
  is '[.id, .topic, .payload, .paused]' "[\"$topic\",\"$topic\",\"sales\",false]"
  call GET "/v1/schedules?topic=$topic"
  is '.schedules | map(.id)' "[\"$topic\"]"
  call POST "$path/pause"
  is .paused true
  call POST "$path/resume"
  is .paused false
  call POST "$path/run"
  status_is 200
  local id
  id=$(of .id)
  take
  is '.messages[0] | [.id, .payload]' "[\"$id\",\"sales\"]"
  outcome "$receipt" ack settled
  call DELETE "$path"
  is .removed true
  call GET "$path"
  status_is 404
  is .code SCHEDULE_NOT_FOUND
}

# --- Running them ------------------------------------------------------------------------------------------------------------

run() {
  number=$1 topic=$GATEWAY_TOPIC_PREFIX.$1
  "b$1" && echo "ok B$1"
}

numbers=("$@")
[ $# -gt 0 ] || mapfile -t numbers < <(declare -F | sed -n 's/^declare -f b\([0-9][0-9]\)$/\1/p')
failed=0 running=0
for each in "${numbers[@]}"; do
  (run "$each") &
  running=$((running + 1))
  if [ "$running" -ge "$at_once" ]; then
    wait -n || failed=1
    running=$((running - 1))
  fi
done
while [ "$running" -gt 0 ]; do
  wait -n || failed=1
  running=$((running - 1))
done
exit "$failed"
