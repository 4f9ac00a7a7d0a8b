//! `docs/events.md` is generated from the table of security events.

use std::fmt::Write;

use porteiro_service::security_log::EventKind;

const INTRODUCTION: &str = "# Security events

The events of the security log (`security_log`). An entry is written in the transaction of the change that it records.
Database privileges and a trigger prevent entries from being changed or deleted. `subject_id` is the account that the entry
is about, or all zeros if no account is known. The network address and the device are in a separate table,
`security_log_personal`, so that personal data can be erased while the entry stays. A payload never contains a secret or an
address. Each of its members is optional, and there are no others.

People read the entries about their own account at `GET /v1/account/activity`: the newest 100, and separately the newest 100
of `proof.refused` and `proof.limited`, which anyone who knows an address can cause.

| Kind | Meaning | Payload |
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
