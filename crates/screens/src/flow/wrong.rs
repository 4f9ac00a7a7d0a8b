//! Messages for what did not work and what to do. They never disclose whether an account exists.

use crate::{call::Reply, language::Words, page::Wrong};

/// `None` if the flow itself has ended: that has a page of its own.
pub fn words(words: &Words, action: &str, reply: &Reply) -> Option<Wrong> {
    let whole = |text: String| Some(Wrong { text, field: None });
    match reply.code() {
        "refused" => Some(refused(words, action)),
        "credential_unknown" => whole(words.t("wrong-passkey")),
        "field_invalid" => Some(field(words, reply)),
        "step_stale" | "unknown_action" => whole(words.t("wrong-moved-on")),
        "slow_down" => {
            let minutes = reply.retry_after.map_or(1, |seconds| (seconds + 59) / 60).max(1);
            whole(words.count("wrong-slow-down", minutes))
        }
        "unavailable" => whole(words.t("wrong-unavailable")),
        _ => None,
    }
}

/// One message for every cause: a wrong secret and an unknown person look the same.
fn refused(words: &Words, action: &str) -> Wrong {
    let (key, field) = match action {
        "password/check" => ("wrong-password", Some("password")),
        "password/set" => ("wrong-current-password", Some("current_password")),
        "totp/check" => ("wrong-totp", Some("code")),
        "recovery_code/check" => ("wrong-recovery-code", Some("code")),
        "passkey/finish" => ("wrong-passkey", None),
        "email_link/redeem" => ("wrong-link", None),
        "federated/finish" => ("wrong-federated", None),
        "federated/enrol_finish" => ("wrong-identity", None),
        "email_code/check" | "sms_code/check" | "email/verify" | "phone/verify" => {
            ("wrong-code", Some("code"))
        }
        _ => ("wrong-generic", None),
    };
    Wrong { text: words.t(key), field: field.map(ToOwned::to_owned) }
}

fn field(words: &Words, reply: &Reply) -> Wrong {
    let error = &reply.body["errors"][0];
    let pointer = error["pointer"].as_str().unwrap_or_default();
    let code = error["code"].as_str().unwrap_or_default();
    let name = pointer.trim_start_matches('/');
    let text = match name {
        "identifier" | "address" => words.t("wrong-address"),
        "number" => words.t("wrong-number"),
        "signs_in" => words.t("wrong-signs-in"),
        "display_name" => words.t("wrong-name"),
        "new_password" => words.t(new_password(code)),
        "code" => words.t("wrong-totp-enrol"),
        "organization" => words.t("wrong-organization"),
        "connection" => words.t("wrong-connection"),
        "user_code" => words.t("wrong-user-code"),
        _ => words.t("wrong-field"),
    };
    Wrong { text, field: Some(name.to_owned()) }
}

/// The service has the rules; here are only the messages.
fn new_password(code: &str) -> &'static str {
    match code {
        "breached" => "wrong-password-breached",
        "common" => "wrong-password-common",
        "guessable" => "wrong-password-guessable",
        "too_long" => "wrong-password-long",
        // Also if nothing was typed.
        _ => "wrong-password-short",
    }
}
