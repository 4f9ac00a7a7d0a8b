# shellcheck shell=bash
# The two who work in turns, for bench/provisioning/run: a directory over HTTP, and pgbench. Source it, do not run it.

# send PHASE FIRST LAST CONCURRENCY: runs wrk, and sets right, seconds, p50 and p99. $scratch/load has what it left.
send() {
  local load=$scratch/load threads=$4 wrong sample
  rm -rf "$load"
  mkdir "$load"
  [ ! -e "$scratch/ids" ] || ln -s "$scratch/ids" "$load/ids"
  ORGANIZATION=$ours_organization DIRECTORY_KEY=$ours_key USERS=$users CROWD=${crowd:-} \
    wrk --threads "$threads" --connections "$threads" --duration $((60 + $3 - $2)) --timeout 60s \
    --script bench/provisioning/directory.lua "$address" -- "$1" "$2" "$3" "$threads" "$load" >"$scratch/wrk" 2>&1 9>&- &
  generator=$!
  # wrk ends when it is told to, or when there was less than one item a second.
  until [ "$(find "$load" -name 'done.*[0-9]' | wc -l)" = "$threads" ]; do
    ! gone "$generator" || { cat "$scratch/wrk" >&2; die "wrk ended"; }
    sleep 0.1
  done
  kill -INT "$generator"
  wait "$generator" || true
  generator=''
  read -r right wrong seconds <<<"$(cat "$load"/done.* | awk '
    $3 > 0 && (!begun || $3 < begun) {begun = $3} $4 > ended {ended = $4} {right += $1; wrong += $2}
    END {print right, wrong, ended - begun}')"
  sample=$(cut -d' ' -f5- "$load"/done.* | grep . | head -n 1 || true)
  [ "$wrong" = 0 ] || { tail -n 5 "$scratch/errors" >&2; die "$1: $wrong answers were no success, such as: $sample"; }
  p50=$(percentile 50) p99=$(percentile 99)
}
percentile() {
  cat "$scratch"/load/times.* | awk '{print $2 * 1000}' | sort -g |
    awk -v p="$1" '{all[NR] = $1} END {at = int(NR * p / 100 + 0.999); printf "%.1f", all[(at < 1 ? 1 : at)]}'
}

# bare SCRIPT CONCURRENCY NUMBER: the rate of pgbench. Plans are made once, as they are for the service.
bare() {
  local profile
  profile='{"name": {"givenName": "Ana", "familyName": "Almeida"}, "emails": [{"type": "work", "value": "ana.almeida.#@acme.example", "primary": true}], "locale": "en-US", "displayName": "Ana Almeida", "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": {"department": "Sales", "employeeNumber": "#"}}'
  (
    cd "$scratch"
    PGOPTIONS='-c plan_cache_mode=force_generic_plan' pgbench --no-vacuum --protocol=prepared --file "$1" \
      --client "$2" --jobs 2 --transactions $((($3 + $2 - 1) / $2)) -D organization="$bare_organization" \
      -D key="${bare_key:7:12}" -D secret="$bare_secret" -D profile="$profile" "$url" >pgbench.out 2>pgbench.err
  ) || { cat "$scratch/pgbench.err" >&2; die "pgbench failed"; }
  sed -nE 's/^tps = ([0-9.]+).*/\1/p' "$scratch/pgbench.out"
}
memory() { awk '/^VmRSS/ {printf "%.1f", $2 / 1024}' "/proc/$server/status"; }
