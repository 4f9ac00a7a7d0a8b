//! `docs/refusals.md` is generated from the table of rules.

use std::fmt::Write;

use porteiro_service::refusals::{DAYS, Rule};

const INTRODUCTION: &str = "# Refusals

A caller that is refused authority receives the error of the standard and no more: neither which permissions it lacks nor
which permissions others hold. The error also contains a `reference`: a member of that name in the JSON errors of the OAuth
endpoints and in problems, and `(reference …)` at the end of `error_description` in errors that are sent by redirect.

With the reference an administrator can read the reason:
`GET /v1/organizations/{organization}/refusals/{reference}` requires `audit:read` in the organization,
`GET /v1/platform/refusals/{reference}` requires `platform.log:read`. The answer contains the rule, the requested authority,
the permissions held at that time with the role of each, and a request that would have been accepted. The audit trail has an
entry `authority.refused` with the same reference. ";

const LIMITS: &str = "A caller that is refused repeatedly receives
at most one reference per minute, so that it cannot fill the audit trail.

| Rule | Meaning |
|---|---|
";

pub fn document() -> String {
    let kept = format!(
        "An unknown reference, an expired one (after {DAYS} days) and one of another organization get the same 404 answer.\n\n"
    );
    Rule::ALL.iter().fold(format!("{INTRODUCTION}{kept}{LIMITS}"), |mut text, rule| {
        let _ = writeln!(text, "| `{}` | {} |", rule.as_str(), rule.sentence());
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_row() {
        assert_eq!(document().matches("\n| `").count(), Rule::ALL.len());
    }
}
