//! How much a client may ask of a person, and what approving requires. Pure.

use porteiro_protocol::{
    assurance::{Level, Proof, event_level},
    entropy::Entropy,
    time::{Duration, OffsetDateTime},
};

use crate::oauth::grants::Terms;

/// How long a person has to decide, unless the client asks for another time.
pub const EXPIRES_SECONDS: i32 = 300;
/// The longest and shortest that a client can ask for.
pub const MAX_EXPIRES_SECONDS: i32 = 3_600;
pub const MIN_EXPIRES_SECONDS: i32 = 10;
/// How long the client has to fetch its token after the decision.
pub const NOTICED_SECONDS: i32 = 120;
/// The lifetime of a token.
pub const TOKEN_SECONDS: i32 = 300;
/// How long a client that was denied or reported may not ask.
pub const BLOCK_SECONDS: i32 = 86_400;
/// Denials within a day after which a client may not ask for a while.
pub const DENIALS: i64 = 3;
/// The age of the proofs with which something irreversible is approved.
const FRESH: Duration = Duration::minutes(5);
const MAX_MESSAGE: usize = 64;

/// How much may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// By one client of one person, undecided at a time.
    pub pending: i64,
    /// By one client of one person.
    pub per_hour: i64,
    pub per_day: i64,
    /// By all clients of one person.
    pub person_per_day: i64,
    /// What each client may ask of the person in a day, although others have used that up,
    pub share: i64,
    /// and how much that may be by all clients.
    pub person_at_most: i64,
}

impl Limits {
    /// `factor` is set by the platform.
    pub fn of(factor: u32) -> Self {
        let factor = i64::from(factor.max(1));
        Self {
            pending: 3 * factor,
            per_hour: 10 * factor,
            per_day: 30 * factor,
            person_per_day: 60 * factor,
            share: 3 * factor,
            person_at_most: 90 * factor,
        }
    }
}

/// The number that the client shows, and the three that the person sees, in order. The other two are drawn with it, so
/// that looking twice reveals nothing.
pub fn draw_numbers(entropy: &dyn Entropy) -> (i16, Vec<i16>) {
    let mut drawn: Vec<i16> = Vec::with_capacity(3);
    while drawn.len() < 3 {
        let [byte] = entropy.bytes::<1>();
        // 180 is twice the number of two-digit numbers: every one is equally likely.
        let number = 10 + i16::from(byte % 90);
        if byte < 180 && !drawn.contains(&number) {
            drawn.push(number);
        }
    }
    let shown = drawn[0];
    drawn.sort_unstable();
    (shown, drawn)
}

/// Whether a person can read it as the client wrote it, and nothing else (CIBA Core §7.1).
pub fn is_binding_message(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b" -._+/!?#".contains(&byte);
    (1..=MAX_MESSAGE).contains(&text.len()) && text.bytes().all(plain)
}

/// What approving requires of the person.
pub fn required_level(irreversible: bool, asked: Option<Level>) -> Level {
    let least = if irreversible { Level::Aal2 } else { Level::None };
    least.max(asked.unwrap_or(Level::None))
}

/// Whether the proofs suffice. `level`: what the session has now.
pub fn may_approve(
    required: Level,
    irreversible: bool,
    level: Level,
    proofs: &[Proof],
    now: OffsetDateTime,
) -> bool {
    if !irreversible {
        return level >= required;
    }
    let recent: Vec<Proof> = proofs.iter().filter(|proof| now - proof.at <= FRESH).cloned().collect();
    level >= required && event_level(&recent) >= Level::Aal2
}

/// Whether what was proved at the decision suffices for what is required now, which may be more than it was then.
pub fn proves(
    (level, irreversible): (Level, bool),
    terms: &Terms,
    decided_at: Option<OffsetDateTime>,
) -> bool {
    let decided = decided_at.map_or(i64::MAX, OffsetDateTime::unix_timestamp);
    let recent = decided.saturating_sub(terms.auth_time) <= FRESH.whole_seconds();
    terms.level >= level && (!irreversible || recent)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};

    use porteiro_protocol::assurance::Method;

    use super::*;

    struct Counting(AtomicU8);
    impl Entropy for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            for byte in bytes {
                *byte = self.0.fetch_add(1, Ordering::Relaxed) / 2;
            }
        }
    }

    #[test]
    fn three_different_numbers_of_two_digits_and_one_of_them_is_shown() {
        for start in 0..=u8::MAX {
            let (shown, all) = draw_numbers(&Counting(AtomicU8::new(start)));
            assert!(all.contains(&shown) && all.len() == 3, "{shown} {all:?}");
            assert!(all[0] < all[1] && all[1] < all[2], "{all:?}");
            assert!(all.iter().all(|number| (10..=99).contains(number)), "{all:?}");
        }
    }

    #[test]
    fn a_binding_message_is_short_and_plain() {
        let long = "a".repeat(64);
        for right in ["1234", "Order 7/2", "W4SCT!?#+-._", long.as_str()] {
            assert!(is_binding_message(right), "{right}");
        }
        for wrong in ["", &format!("{long}a"), "<b>", "a\nb", "É", "\u{202e}x", "a&b", "a'b"] {
            assert!(!is_binding_message(wrong), "{wrong}");
        }
    }

    #[test]
    fn what_cannot_be_undone_needs_two_factors_within_five_minutes() {
        let now = OffsetDateTime::UNIX_EPOCH + Duration::days(1);
        let proof = |method, minutes| Proof {
            method,
            at: now - Duration::minutes(minutes),
            credential: None,
            user_verified: true,
        };
        let both = |one, two| vec![proof(Method::Password, one), proof(Method::Totp, two)];
        let may = |proofs: &[Proof]| may_approve(Level::Aal2, true, Level::Aal2, proofs, now);
        assert!(may(&both(5, 0)) && may(&[proof(Method::Passkey, 5)]));
        assert!(!may(&both(6, 0)) && !may(&both(0, 6)) && !may(&[proof(Method::Passkey, 6)]));
        assert!(!may(&[proof(Method::Password, 0)]));
        assert!(may_approve(Level::None, false, Level::None, &[], now));
        assert!(!may_approve(Level::Aal2, false, Level::Aal1, &[], now));
    }

    #[test]
    fn the_platform_can_only_raise_the_limits() {
        assert_eq!(Limits::of(0), Limits::of(1));
        assert_eq!(Limits::of(2).person_per_day, 120);
    }
}
