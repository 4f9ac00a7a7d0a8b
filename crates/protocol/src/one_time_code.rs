//! Six digits sent to a mailbox or a phone (NIST SP 800-63B-4 §3.1.3.2: at least six, valid ten minutes).

use std::fmt;

use zeroize::Zeroizing;

use crate::entropy::Entropy;

pub const DIGITS: usize = 6;
const CODES: u32 = 1_000_000;

/// A code to be sent. Stored only under a password hash: twenty bits can be guessed offline.
pub struct OneTimeCode(Zeroizing<String>);

impl OneTimeCode {
    #[must_use]
    pub fn generate(entropy: &dyn Entropy) -> Self {
        // Draws above the last whole million are repeated: their remainder would favour small codes.
        const LIMIT: u32 = u32::MAX / CODES * CODES;
        loop {
            let draw = u32::from_be_bytes(entropy.bytes());
            if draw < LIMIT {
                return Self(Zeroizing::new(format!("{:0DIGITS$}", draw % CODES)));
            }
        }
    }

    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Reads typed or pasted input as six digits. Spaces and hyphens are ignored; anything else is refused.
    #[must_use]
    pub fn normalise(typed: &str) -> Option<String> {
        let mut code = String::with_capacity(DIGITS);
        for char in typed.chars().filter(|char| !char.is_whitespace() && *char != '-') {
            if !char.is_ascii_digit() || code.len() == DIGITS {
                return None;
            }
            code.push(char);
        }
        (code.len() == DIGITS).then_some(code)
    }
}

impl fmt::Debug for OneTimeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<one-time code>")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use proptest::prelude::*;

    use super::*;

    /// Plays back given draws.
    struct Draws(Mutex<Vec<u32>>);
    impl Entropy for Draws {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.copy_from_slice(&self.0.lock().unwrap().remove(0).to_be_bytes());
        }
    }
    fn from_draws(draws: &[u32]) -> OneTimeCode {
        OneTimeCode::generate(&Draws(Mutex::new(draws.to_vec())))
    }

    #[test]
    fn a_draw_that_would_bias_is_thrown_away() {
        assert_eq!(from_draws(&[42]).reveal(), "000042");
        assert_eq!(from_draws(&[4_293_999_999]).reveal(), "999999");
        assert_eq!(from_draws(&[4_294_000_000, u32::MAX, 1_000_007]).reveal(), "000007");
        assert_eq!(format!("{:?}", from_draws(&[42])), "<one-time code>");
    }

    #[test]
    fn grouping_is_forgiven_and_nothing_else() {
        for typed in ["123456", " 123 456 ", "123-456", "1 2 3-4 5 6\n", "123\u{a0}456"] {
            assert_eq!(OneTimeCode::normalise(typed).as_deref(), Some("123456"), "{typed}");
        }
        for typed in ["", "12345", "1234567", "12345a", "１２３４５６", "٣٣٣٣٣٣", "+12345", "123.456"]
        {
            assert_eq!(OneTimeCode::normalise(typed), None, "{typed}");
        }
    }

    proptest! {
        #[test]
        fn every_draw_gives_six_digits(draw in 0..4_294_000_000_u32) {
            let code = from_draws(&[draw]);
            let read = OneTimeCode::normalise(code.reveal());
            prop_assert_eq!(read.as_deref(), Some(code.reveal()));
        }

        #[test]
        fn normalising_twice_changes_nothing(typed in "[0-9 -]{4,9}") {
            let once = OneTimeCode::normalise(&typed);
            prop_assert_eq!(once.as_deref().and_then(OneTimeCode::normalise), once);
        }
    }
}
