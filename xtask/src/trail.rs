//! `docs/audit-trail.md` is generated from the table of audit events, with the program that verifies an export.

use std::fmt::Write;

use porteiro_service::audit_trail::TrailKind;

const INTRODUCTION: &str = "# The audit trail of an organization

The audit trail records the changes in an organization, for its own administrators. An entry is written in the transaction
of the change that it records. Entries are numbered without gaps, and each contains the hash of the previous one. Database
privileges and a trigger prevent single entries from being changed or deleted. Entries are kept for 400 days. Callers with
`audit:read` can read them, also while the organization is suspended.

`GET /v1/organizations/{organization}/audit-events` returns pages, newest first. The parameters `type`, `actor`, `from` (at or
after this time) and `to` (before this time) filter the entries. With `Accept: application/x-ndjson` the answer is an export
of all matching entries, one per line, oldest first, up to the newest entry at its start. At most ten exports per minute are
allowed. An export that is interrupted is incomplete: request it again.

## An entry

| Member | Meaning |
|---|---|
| `id` | UUIDv7; sorts as the trail does |
| `sequence` | the entry's number in this trail, from 1, without gaps |
| `at` | when, in UTC, always with six digits after the second |
| `type` | see below |
| `actor` | who: `{\"kind\", \"id\"}`; kinds are `member`, `client`, `api_key`, `platform` and `system`. `act` is the platform administrator, where they impersonated the member |
| `target` | to what: `{\"kind\", \"id\"}` |
| `organization` | the organization of the trail |
| `request_id` | the id of the request, as in its `X-Request-Id`; all zeros if there was no request |
| `outcome` | `done` or `refused` |
| `reason` | the reason that the actor gave, or the rule of a refusal |
| `changes` | `{\"before\", \"after\"}`; never a secret |
| `previous_hash` | `hash` of the previous entry; empty in the first |
| `hash` | see below |
| `address`, `user_agent` | from where; `null` once erased. Not part of the hash |

## Checking the chain

`hash` is the SHA-256, in hexadecimal, of the entry itself without `hash`, `address` and `user_agent`, as canonical JSON
in UTF-8: members in the order of their names, no space, only what must be escaped is escaped (RFC 8785). Numbers are
always whole. An export can therefore be verified on its own. Keep the last line of an export: the next one, with
`from` set to its `at`, must contain the same line.

This program verifies an unfiltered export and reports the first entry that is wrong:

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

The program cannot detect that entries after the last line are missing, unless an earlier export contains them, or that an
entry was false when it was written. A person who can change the tables and triggers of the database can write another
trail, but it will not contain the lines that you kept.

## Types

| Type | Meaning |
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
