# shellcheck shell=bash
# What bench/provisioning/run does, one after the other. Each leaves lines in $scratch for the report. Source it, do
# not run it.

# In each slice, half of its users at 8 and half at 32. Leaves lines: slice, concurrency, requests, seconds, p50,
# p99, bare rate, bare rate of all statements of a request (in the middle only), memory.
provision_users() {
  local slice concurrency first=1 last number statements rate all rss
  cat bench/provisioning/{before,transaction}.sql >"$scratch/request.sql"
  statements=$PWD/bench/provisioning/transaction.sql
  for ((slice = 1; slice <= slices; slice++)); do
    for concurrency in 8 32; do
      last=$((users * (2 * slice - (concurrency == 8)) / (2 * slices))) all=-
      send users "$first" "$last" "$concurrency"
      cat "$scratch"/load/made.* >>"$scratch/made"
      number=$((last - first + 1)) rss=$(memory)
      rate=$(bare "$statements" "$concurrency" "$number")
      [ $slice != $(((slices + 1) / 2)) ] || all=$(bare "$scratch/request.sql" "$concurrency" "$number")
      echo "$slice $concurrency $right $seconds $p50 $p99 $rate $all $rss" | tee -a "$scratch/slices" >&2
      first=$((last + 1))
    done
  done
  sort -n "$scratch/made" | awk '{print $2}' >"$scratch/ids"
  [ "$(wc -l <"$scratch/ids")" = "$users" ] || die "not every user was created"
}

provision_groups() {
  local slice first=1 last
  for ((slice = 1; slice <= slices; slice++)); do
    last=$((groups * slice / slices))
    send groups "$first" "$last" 8
    echo "$slice 8 $right $seconds $p50 $p99 - - $(memory)" | tee -a "$scratch/group_slices" >&2
    first=$((last + 1))
  done
}

# Rows written so far: table and number, of all tables. Backends tell theirs within 10 seconds of their last statement.
written() {
  sleep 11
  sql -F' ' -c "SELECT relname, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables ORDER BY 1"
}
transactions() { sql -c "SELECT pg_snapshot_xmax(pg_current_snapshot())"; }
position() { sql -c "SELECT pg_current_wal_insert_lsn() - '0/0'"; }

# Everything again. Leaves lines in `resync`: what, requests, seconds, p50, p99, transactions that wrote, bytes of WAL;
# in `rows`: table and rows written.
resync() {
  local before phase last ids bytes
  before=$(written)
  for phase in users groups; do
    last=$users
    [ $phase = users ] || last=$groups
    # What a checkpoint makes of the next change of each page is written now.
    sql -c CHECKPOINT
    ids=$(transactions) bytes=$(position)
    send "resync_$phase" 1 "$last" 8
    echo "$phase $right $seconds $p50 $p99 $(($(transactions) - ids)) $(($(position) - bytes))" |
      tee -a "$scratch/resync" >&2
  done
  join <(sort <<<"$before") <(written | sort) | awk '$3 > $2 {print $1, $3 - $2}' | tee "$scratch/rows" >&2
  ! grep -E '^(membership|organization|account|api_key_|trail|provisioning_|security_log)' "$scratch/rows" >&2 ||
    die "a full re-sync that changes nothing has written rows"
}

# A group of so many members, less the one who comes and goes, with a role.
crowded_group() {
  local body version size=$((users < 20000 ? users : 20000)) warm=112
  api POST "/v1/organizations/$ours_organization/roles" \
    '{"key": "clerk", "name": "Clerk", "permissions": ["members:read"]}' >/dev/null
  body=$(head -n $((size - 1)) "$scratch/ids" | awk '{printf "%s{\"value\":\"%s\"}", (NR > 1 ? "," : ""), $1}')
  printf '{"displayName":"Everybody","members":[%s]}' "$body" >"$scratch/everybody"
  crowd=$(curl -sS --fail-with-body "$address/scim/v2/$ours_organization/Groups?attributes=displayName" "${proxied[@]}" \
    -H "authorization: Bearer $ours_key" -H 'content-type: application/scim+json' \
    --data-binary "@$scratch/everybody" | jq -r .id)
  version=$(sql -c "SELECT version FROM organization_group WHERE group_id = '$crowd'")
  api PATCH "/v1/organizations/$ours_organization/groups/$crowd" '{"role": "clerk"}' "if-match: \"$version\"" >/dev/null
  # Seven for each connection of the pool: after five, PostgreSQL keeps one plan for all values.
  send crowd 1 $((warm + 40)) 1
  cat "$scratch"/load/times.* | awk -v warm=$warm '$1 > warm {print ($1 % 2 ? "add" : "remove"), $2 * 1000}' |
    sort -k1,1 -k2,2g | awk -v size="$size" '{all[$1, ++n[$1]] = $2}
      END {for (what in n) print what, size, all[what, int((n[what] + 1) / 2)], all[what, n[what]]}' | sort |
    tee "$scratch/crowd" >&2
}
