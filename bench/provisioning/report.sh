# shellcheck shell=bash
# The tables of bench/provisioning/run, from the lines that it left in $scratch. Source it, do not run it.

# rates FIRST LAST CONCURRENCY LABEL FILE: the row of these slices.
rates() {
  awk -v first="$1" -v last="$2" -v concurrency="$3" -v label="$4" '
    $1 >= first && $1 <= last && $2 == concurrency {
      requests += $3; seconds += $4; memory = $9
      p50 = $5; p99 = $6
      if ($7 != "-") bare += $3 / $7
      if ($8 != "-") {all_requests += $3; all += $3 / $8; own += $4}
    }
    END {
      printf "| %s | %d | %d | %.0f |", label, concurrency, requests, requests / seconds
      if (first == last) printf " %.1f | %.1f |", p50, p99; else printf " | |"
      if (bare) printf " %.0f | **%.2f** |", requests / bare, bare / seconds; else printf " | |"
      if (all) printf " %.0f, %.2f |", all_requests / all, all / own; else printf " |"
      printf " %.1f |\n", memory
    }' "$5"
}

report() {
  local concurrency middle=$(((slices + 1) / 2))
  printf '%s, %s cores (%s), %s GB, PostgreSQL %s (%s); load average %s before and %s after. %s users, %s groups of 50; ' \
    "$(date +'%-d %B %Y')" "$(nproc)" "$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)" \
    "$(awk '/^MemTotal/ {printf "%.0f", $2 / 1048576}' /proc/meminfo)" "$(sql -c 'SHOW server_version' | cut -d' ' -f1)" \
    "$(cat "$STATE/postgres/mode")" "$load_before" "$(cut -d' ' -f1 /proc/loadavg)" "$users" "$groups"
  printf 'memory of the idle service %s MB. Every answer was a success.\n\n' "$idle"
  printf '| Of the requests | Concurrency | Requests | A second | p50 ms | p99 ms | Bare transaction, a second | Ratio |'
  printf ' All statements of a request, a second, ratio | Memory, MB |\n|---|---|---|---|---|---|---|---|---|---|\n'
  for concurrency in 8 32; do
    rates 1 1 $concurrency '`POST /Users`, first slice' "$scratch/slices"
    rates $middle $middle $concurrency '`POST /Users`, middle slice' "$scratch/slices"
    rates "$slices" "$slices" $concurrency '`POST /Users`, last slice' "$scratch/slices"
    rates 1 "$slices" $concurrency '`POST /Users`, all' "$scratch/slices"
  done
  rates 1 1 8 '`POST /Groups`, first slice' "$scratch/group_slices"
  rates $middle $middle 8 '`POST /Groups`, middle slice' "$scratch/group_slices"
  rates "$slices" "$slices" 8 '`POST /Groups`, last slice' "$scratch/group_slices"
  printf '\n| Sent again, nothing changed | Requests | A second | p50 ms | p99 ms | Transactions that wrote | WAL bytes a request |\n'
  printf '|---|---|---|---|---|---|---|\n'
  awk '{printf "| %s | %d | %.0f | %.1f | %.1f | %d | %.0f |\n", $1, $2, $2 / $3, $4, $5, $6, $7 / $2}' "$scratch/resync"
  printf '\nRows written meanwhile, of every table that had any: %s. ' \
    "$(awk '{printf "%s`%s` %d", (NR > 1 ? ", " : ""), $1, $2} END {if (!NR) printf "none"}' "$scratch/rows")"
  printf 'Rows of members, groups, the audit trail and the log of refusals: 0.\n\n'
  printf '| A group with a role | Members | Median ms | Slowest of 20, ms |\n|---|---|---|---|\n'
  awk '{printf "| %s one member | %d | %.1f | %.1f |\n", $1, $2, $3, $4}' "$scratch/crowd"
}

# write_report FILE: between its markers.
write_report() {
  grep -q '^<!-- provisioning: end -->' "$1" || die "$1 has no place for it"
  awk -v report="$scratch/report" '
    /^<!-- provisioning: end -->/ {inside = 0}
    !inside {print}
    /^<!-- provisioning: begin -->/ {inside = 1; while ((getline line <report) > 0) print line}' "$1" >"$scratch/document"
  cat "$scratch/document" >"$1"
}
