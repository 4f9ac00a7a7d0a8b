//! Recovery codes: look-up secrets (NIST SP 800-63B-4 §3.1.2) and saved recovery codes (§4.2.1.1).
//!
//! `7kq-3m9t-x0ab-4d2f-hj8w`: a selector that finds the row, so that one guess costs one hash, and 80 random bits.
//! That is below 112 bits, so the secret is stored only under a password hash.

use std::fmt;

use zeroize::Zeroizing;

use crate::entropy::Entropy;

/// Crockford's base 32, lower case: no `i`, `l`, `o` to misread, no `u`.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const SELECTOR: usize = 3;
const SECRET: usize = 16;
const GROUP: usize = 4;
const SELECTORS: u16 = 1 << 15;

pub struct RecoveryCode {
    selector: String,
    secret: Zeroizing<String>,
}

/// `count` codes with distinct selectors.
#[must_use]
pub fn generate_set(entropy: &dyn Entropy, count: u8) -> Vec<RecoveryCode> {
    let mut taken = Vec::with_capacity(usize::from(count));
    (0..count)
        .map(|_| {
            let mut selector = u16::from_be_bytes(entropy.bytes()) % SELECTORS;
            // Selectors are not secret, so the next free one is used.
            while taken.contains(&selector) {
                selector = (selector + 1) % SELECTORS;
            }
            taken.push(selector);
            let draws = Zeroizing::new(entropy.bytes::<SECRET>());
            RecoveryCode {
                selector: [selector >> 10, selector >> 5, selector]
                    .map(|bits| letter(bits.to_be_bytes()[1]))
                    .iter()
                    .collect(),
                secret: Zeroizing::new(draws.iter().map(|draw| letter(*draw)).collect()),
            }
        })
        .collect()
}

/// Reads typed input as selector and secret. Case, grouping and the usual misreadings are accepted.
#[must_use]
pub fn parse(typed: &str) -> Option<(String, Zeroizing<String>)> {
    let mut text = Zeroizing::new(String::with_capacity(SELECTOR + SECRET));
    for char in typed.chars().filter(|char| !char.is_whitespace() && *char != '-') {
        let char = match char.to_ascii_lowercase() {
            'o' => '0',
            'i' | 'l' => '1',
            other => other,
        };
        if text.len() == SELECTOR + SECRET || !u8::try_from(char).is_ok_and(|byte| ALPHABET.contains(&byte)) {
            return None;
        }
        text.push(char);
    }
    if text.len() != SELECTOR + SECRET {
        return None;
    }
    let (selector, secret) = text.split_at(SELECTOR);
    Some((selector.to_owned(), Zeroizing::new(secret.to_owned())))
}

impl RecoveryCode {
    /// Stored in the clear.
    #[must_use]
    pub fn selector(&self) -> &str {
        &self.selector
    }

    /// The spelling that is hashed, which [`parse`] returns.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// The text that is shown to the owner once.
    #[must_use]
    pub fn reveal(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(SELECTOR + SECRET + SECRET / GROUP));
        text.push_str(&self.selector);
        for (index, char) in self.secret.chars().enumerate() {
            if index % GROUP == 0 {
                text.push('-');
            }
            text.push(char);
        }
        text
    }
}

impl fmt::Debug for RecoveryCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<recovery code>")
    }
}

/// Five bits of a byte; 32 divides 256, so there is no bias.
fn letter(byte: u8) -> char {
    char::from(ALPHABET[usize::from(byte & 31)])
}

#[cfg(test)]
mod tests {
    use std::{
        collections::HashSet,
        sync::atomic::{AtomicU64, Ordering},
    };

    use proptest::prelude::*;

    use super::*;

    struct Sevens;
    impl Entropy for Sevens {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(7);
        }
    }
    /// Knuth's linear congruential generator: enough to look random.
    struct Seeded(AtomicU64);
    impl Entropy for Seeded {
        fn fill(&self, bytes: &mut [u8]) {
            for byte in bytes {
                let next = |seed: u64| seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let seed = self.0.update(Ordering::Relaxed, Ordering::Relaxed, next);
                *byte = (seed >> 56) as u8;
            }
        }
    }

    #[test]
    fn the_format_is_as_printed() {
        let set = generate_set(&Sevens, 3);
        let shown: Vec<_> = set.iter().map(|code| code.reveal().to_string()).collect();
        assert_eq!(shown, ["1r7-7777-7777-7777-7777", "1r8-7777-7777-7777-7777", "1r9-7777-7777-7777-7777"]);
        assert_eq!(format!("{set:?}"), "[<recovery code>, <recovery code>, <recovery code>]");
        assert_eq!(ALPHABET.iter().collect::<HashSet<_>>().len(), 32);
    }

    #[test]
    fn what_people_do_to_codes_is_forgiven() {
        let expected = ("a01".to_owned(), "01bcdefghjkmnpqr".to_owned());
        for typed in [
            "a01-01bc-defg-hjkm-npqr",
            "A01 01BC DEFG HJKM NPQR",
            " aOl-oIbc-defghjkmnpqr\n",
            "a0101bcdefghjkmnpqr",
        ] {
            let (selector, secret) = parse(typed).unwrap();
            assert_eq!((selector, secret.to_string()), expected, "{typed}");
        }
        for typed in [
            "",
            "a01",
            "a01-01bc-defg-hjkm-npq",
            "a01-01bc-defg-hjkm-npqrs",
            "a01-01bc-defg-hjkm-npqu",
            "a01-01bc-defg-hjkm-npqŕ",
            "a01_01bc_defg_hjkm_npqr",
        ] {
            assert!(parse(typed).is_none(), "{typed}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_what_is_read(seed: u64, count: u8) {
            let set = generate_set(&Seeded(seed.into()), count);
            prop_assert_eq!(set.len(), usize::from(count));
            let selectors: HashSet<_> = set.iter().map(RecoveryCode::selector).collect();
            prop_assert_eq!(selectors.len(), set.len());
            for code in &set {
                let shown = code.reveal();
                for typed in [shown.to_string(), shown.to_uppercase(), shown.replace('-', " "), shown.replace('-', "")] {
                    let (selector, secret) = parse(&typed).unwrap();
                    prop_assert_eq!((&*selector, &**secret), (code.selector(), code.secret()));
                }
            }
        }
    }
}
