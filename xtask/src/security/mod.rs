//! `docs/security/`: limits, credentials and sessions, with the numbers from the code.

pub mod paths;
pub mod sessions;
pub mod throttling;

use porteiro_service::credentials::{CredentialKind, KindInfo};

/// Consecutive failures after which a credential must be enrolled again.
fn failures(info: &KindInfo) -> String {
    match (info.kind, info.max_failures) {
        // A mailbox or number cannot be guessed; the code can, and is invalid after five attempts.
        (CredentialKind::Email | CredentialKind::Phone, _) => {
            "5 per code, then the code is invalid".to_owned()
        }
        (_, Some(most)) => most.to_string(),
        (_, None) => "not counted".to_owned(),
    }
}

/// `1 hour 12 minutes`: the two largest units, which are easier to read than `86_400`.
fn in_words(seconds: f64) -> String {
    let units = [(86_400.0, "day"), (3_600.0, "hour"), (60.0, "minute"), (1.0, "second")];
    let mut rest = seconds;
    let mut words = Vec::new();
    for (size, unit) in units {
        let count = (rest / size).floor();
        if count >= 1.0 {
            let plural = if count > 1.0 { "s" } else { "" };
            words.push(format!("{count} {unit}{plural}"));
            rest -= count * size;
        }
    }
    if words.is_empty() {
        words.push(format!("{seconds} seconds"));
    }
    words.truncate(2);
    words.join(" ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn seconds_read_well() {
        for (seconds, words) in [
            (0.5, "0.5 seconds"),
            (1.0, "1 second"),
            (36.0, "36 seconds"),
            (8_640.0, "2 hours 24 minutes"),
            (86_400.0, "1 day"),
            (90_061.0, "1 day 1 hour"),
        ] {
            assert_eq!(super::in_words(seconds), words);
        }
    }
}
