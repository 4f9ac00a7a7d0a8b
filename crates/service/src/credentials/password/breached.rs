//! The public collection of breached passwords, queried by range: five characters of a hash leave this machine, never a
//! password or its whole hash.

use crate::{App, fetch::Destination};

/// A range answer holds some hundreds of lines.
const LARGEST_ANSWER: usize = 256 * 1024;

/// Whether the collection contains this password. If it cannot be reached the password is accepted: the check is an
/// addition, and must not keep people from changing their passwords.
pub(super) async fn is_known(app: &App, password: &[u8]) -> bool {
    let settings = &app.checked.settings;
    if !settings.breached_password_check {
        return false;
    }
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY, password);
    let hash = data_encoding::HEXUPPER.encode(digest.as_ref());
    let (prefix, suffix) = hash.split_at(5);
    let url = format!("{}/range/{prefix}", settings.breached_password_url.trim_end_matches('/'));
    if let Ok(answer) = app.fetcher.get_text(Destination::Operators, &url, LARGEST_ANSWER).await {
        return answer.lines().any(|line| line.split(':').next().is_some_and(|known| known.trim() == suffix));
    }
    tracing::warn!("the collection of breached passwords could not be queried");
    metrics::counter!("porteiro_breached_check_failed_total").increment(1);
    false
}
