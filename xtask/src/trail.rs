//! `docs/audit-trail.md` comes from the table of trail entries, with the program by which a reader checks them.

use std::fmt::Write;

use porteiro_service::trail::TrailKind;

const INTRODUCTION: &str = "# The audit trail of an organization

What happened in an organization, for its own people. An entry is written in the transaction of what it records: both
happen or neither. Entries are numbered without gaps, never changed and never deleted one by one, by privilege and by
trigger; each carries the hash of the one before. They are kept for 400 days. Whoever holds `audit:read` reads them, while
the organization is suspended too.

`GET /v1/organizations/{organization}/audit-events` answers with pages, newest first. The parameters `type`, `actor`,
`from` (that moment and later) and `to` (earlier) narrow it. With `Accept: application/x-ndjson` the answer is
everything that matches, one entry a line, oldest first, ending with the newest there was when it began; at most ten
exports a minute. An export that breaks off in the middle of the answer is not complete: ask again.

## An entry

| Member | Says |
|---|---|
| `id` | UUIDv7; sorts as the trail does |
| `sequence` | the entry's number in this trail, from 1, without gaps |
| `at` | when, in UTC, always with six digits after the second |
| `type` | see below |
| `actor` | who: `{\"kind\", \"id\"}`; kinds are `member`, `client`, `api_key`, `platform` and `system`. `act` names who really acted, where somebody of the platform acted as a member |
| `target` | to what: `{\"kind\", \"id\"}` |
| `organization` | whose trail it is |
| `request_id` | of the request that did it, as in its `X-Request-Id`; all zeros where time did it |
| `outcome` | `done` or `refused` |
| `reason` | why, where somebody had to say, or by which rule |
| `changes` | `{\"before\", \"after\"}`; never a secret |
| `previous_hash` | `hash` of the entry before; empty in the first |
| `hash` | see below |
| `address`, `user_agent` | from where; `null` once erased. Not part of the hash |

## Checking the chain

`hash` is the SHA-256, in hexadecimal, of the entry itself without `hash`, `address` and `user_agent`, as canonical JSON
in UTF-8: members in the order of their names, no space, only what must be escaped is escaped (RFC 8785). Numbers are
always whole. So whoever has an export needs nothing else to check it. Keep the last line of an export: the next one, with
`from` set to its `at`, must contain the same line.

This program reads an unfiltered export and says whether it holds, and where not:

```python
import hashlib, json, sys

previous = None
for line in sys.stdin.buffer:
    entry = json.loads(line)
    number = entry[\"sequence\"]
    said = {name: entry[name] for name in entry if name not in (\"hash\", \"address\", \"user_agent\")}
    text = json.dumps(said, sort_keys=True, separators=(\",\", \":\"), ensure_ascii=False)
    if hashlib.sha256(text.encode()).hexdigest() != entry[\"hash\"]:
        sys.exit(f\"entry {number} is not what was written\")
    if previous is None:
        if (number == 1) != (entry[\"previous_hash\"] == \"\"):
            sys.exit(f\"entry {number} is not where the trail begins\")
    elif number != previous[\"sequence\"] + 1:
        sys.exit(f\"before entry {number} something is missing\")
    elif entry[\"previous_hash\"] != previous[\"hash\"]:
        sys.exit(f\"entry {number} does not follow the one before\")
    previous = entry
if previous is None:
    sys.exit(\"nothing to check\")
print(f\"holds up to entry {previous['sequence']}, {previous['hash']}\")
```

    curl -sf -H \"Authorization: Bearer $TOKEN\" -H \"Accept: application/x-ndjson\" \\
        \"$PORTEIRO/v1/organizations/$ORGANIZATION/audit-events\" | python3 check.py

What it cannot show: that entries after the last line were cut off, unless an earlier export had them; and that what was
written was true. Whoever may change the database's tables and triggers can write another trail; it will not contain the
lines you kept.

## Types

| Type | Means |
|---|---|
";

pub fn document() -> String {
    TrailKind::ALL.iter().fold(INTRODUCTION.to_owned(), |mut text, kind| {
        let _ = writeln!(text, "| `{}` | {} |", kind.as_str(), kind.meaning());
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_row() {
        let text = document();
        let (_, types) = text.split_once("## Types").unwrap();
        assert_eq!(types.matches("\n| `").count(), TrailKind::ALL.len());
        assert!(types.contains("| `member.removed` |"));
    }
}
