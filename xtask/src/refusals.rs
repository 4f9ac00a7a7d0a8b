//! `docs/refusals.md` comes from the table of rules.

use std::fmt::Write;

use porteiro_service::refusals::{DAYS, Rule};

const INTRODUCTION: &str = "# Refusals

Whoever is refused authority is told what the standard says, and no more: not what they lack, nor what somebody else
holds. Beside it stands a `reference`: in the JSON errors of the OAuth endpoints and in problems as a member of that
name, in errors that travel by redirect at the end of `error_description`, as `(reference …)`.

By the reference, whoever may read the organization's trail finds out why:
`GET /v1/organizations/{organization}/refusals/{reference}` needs `audit:read` there,
`GET /v1/platform/refusals/{reference}` needs `platform.log:read`. The answer names the rule, what was asked, what was held
at that moment and by which role, and what would have passed; the trail has an entry `authority.refused` with the same
reference. ";

const LIMITS: &str = "Who is refused again and again gets no more references
after a while, one a minute at most: nobody fills the trail by asking.

| Rule | Says |
|---|---|
";

pub fn document() -> String {
    let kept = format!(
        "An unknown, an expired (after {DAYS} days) and somebody else's reference are the same 404.\n\n"
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
