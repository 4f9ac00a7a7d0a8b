//! `docs/events.md` comes from the table of security events.

use std::fmt::Write;

use porteiro_service::audit::EventKind;

const INTRODUCTION: &str = "# Security events

What the security log (`security_log`) records. An entry is written in the transaction of what it records: both happen or
neither. It is never changed or deleted, by privilege and by trigger. `subject_id` is the account it is about, or all
zeros where nobody is known. Network address and device stand apart, in `security_log_personal`, so that a person can be
erased and the record stays. A payload never holds a secret or an address; its members are each present or absent, and
there are no others.

People read the entries about themselves at `GET /v1/account/activity`: the newest 100, and besides the newest 100 of
`proof.refused` and `proof.limited`, which anybody can cause who knows an address.

| Kind | Means | Payload |
|---|---|---|
";

pub fn document() -> String {
    EventKind::ALL.iter().fold(INTRODUCTION.to_owned(), |mut text, kind| {
        let members: Vec<String> = kind.payload().iter().map(|member| format!("`{member}`")).collect();
        let members = if members.is_empty() { "—".to_owned() } else { members.join(", ") };
        let _ = writeln!(text, "| `{}` | {} | {members} |", kind.as_str(), kind.meaning());
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_row() {
        let text = document();
        assert_eq!(text.matches("\n| `").count(), EventKind::ALL.len());
        assert!(text.contains("| `session.ended` | A session ended. | `session_id`, `reason` |"));
    }
}
