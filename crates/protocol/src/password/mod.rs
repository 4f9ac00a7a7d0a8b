//! Password rules of NIST SP 800-63B-4 §3.1.1.2: long, not common, and no rules of composition.

pub mod common;

use std::fmt;

use unicode_normalization::UnicodeNormalization;
use zeroize::Zeroizing;

/// Longer input is refused unread: anonymous callers can cause normalising and hashing.
pub const MAX_BYTES: usize = 4096;
/// Shorter words occur in many good passwords by chance.
const MIN_CONTEXT_WORD: usize = 3;
/// Shorter parts of a name (`com`, `the`) are not specific to it.
const MIN_CONTEXT_PIECE: usize = 4;

/// Lengths in Unicode code points after NFC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasswordPolicy {
    /// 15 where the password may be the only factor, 8 where a second factor is always required.
    pub min: usize,
    pub max: usize,
}

impl Default for PasswordPolicy {
    fn default() -> Self {
        Self { min: 15, max: 256 }
    }
}

/// §3.1.1.2: the person receives the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordRefused {
    #[error("the password has fewer than {min} characters")]
    TooShort { min: usize },
    #[error("the password has more than {max} characters")]
    TooLong { max: usize },
    #[error("the password is too common")]
    Common,
    #[error("the password contains a name related to the account")]
    ContextWord,
}

/// A password in NFC and within bounds: the only input a hasher accepts.
#[derive(Clone)]
pub struct NormalisedPassword(Zeroizing<String>);

impl NormalisedPassword {
    /// For the hasher. Every character matters: nothing is truncated or folded (ASVS 6.2.8).
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for NormalisedPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<password>")
    }
}

/// Checks a password to be set. `context` are names an attacker would try first: the service, the organization, the
/// host, the person's own address (ASVS 6.2.11).
pub fn check(
    policy: &PasswordPolicy,
    password: &str,
    context: &[&str],
) -> Result<NormalisedPassword, PasswordRefused> {
    if password.len() > MAX_BYTES {
        return Err(PasswordRefused::TooLong { max: policy.max });
    }
    let password = NormalisedPassword(nfc(password));
    let length = password.0.chars().count();
    if length < policy.min {
        return Err(PasswordRefused::TooShort { min: policy.min });
    }
    if length > policy.max {
        return Err(PasswordRefused::TooLong { max: policy.max });
    }
    let folded = fold(&password.0);
    if common::contains(&folded) {
        return Err(PasswordRefused::Common);
    }
    if context.iter().any(|name| is_made_of_name(&folded, name)) {
        return Err(PasswordRefused::ContextWord);
    }
    Ok(password)
}

/// Reads a password to be verified. Only bounds apply: one that was set under an older policy must still verify.
#[must_use]
pub fn normalise(password: &str) -> Option<NormalisedPassword> {
    (1..=MAX_BYTES).contains(&password.len()).then(|| NormalisedPassword(nfc(password)))
}

fn nfc(text: &str) -> Zeroizing<String> {
    // NFC can triple the length in UTF-8; reallocating would leave copies in memory.
    let mut normal = Zeroizing::new(String::with_capacity(3 * text.len()));
    normal.extend(text.nfc());
    normal
}

/// Only for comparison with lists.
fn fold(text: &str) -> Zeroizing<String> {
    let lower = Zeroizing::new(text.to_lowercase());
    nfc(&lower)
}

fn is_made_of_name(password: &str, name: &str) -> bool {
    let name = fold(name.trim());
    let letters: String = name.chars().filter(|char| char.is_alphanumeric()).collect();
    let pieces = name
        .split(|char: char| !char.is_alphanumeric())
        .filter(|piece| piece.chars().count() >= MIN_CONTEXT_PIECE);
    [name.as_str(), letters.as_str()]
        .into_iter()
        .filter(|word| word.chars().count() >= MIN_CONTEXT_WORD)
        .chain(pieces)
        .any(|word| is_made_of(password, word))
}

/// Whether the whole password is this word, once or repeated, with only digits, punctuation and spaces around it. A
/// password that merely contains the word is allowed.
fn is_made_of(password: &str, word: &str) -> bool {
    let mut rest = password;
    let mut found = false;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix(word) {
            found = true;
            rest = after;
        } else if first.is_numeric() || first.is_ascii_punctuation() || first.is_whitespace() {
            rest = &rest[first.len_utf8()..];
        } else {
            return false;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const POLICY: PasswordPolicy = PasswordPolicy { min: 15, max: 256 };

    fn refused(password: &str, context: &[&str]) -> Option<PasswordRefused> {
        check(&POLICY, password, context).err()
    }

    fn bytes(password: &str) -> Vec<u8> {
        normalise(password).unwrap().as_bytes().to_vec()
    }

    #[test]
    fn length_is_counted_in_code_points_after_nfc() {
        assert_eq!(POLICY, PasswordPolicy::default());
        let (short, long) = (PasswordRefused::TooShort { min: 15 }, PasswordRefused::TooLong { max: 256 });
        assert_eq!(refused("kT9#vLq2!mWz7x", &[]), Some(short));
        assert_eq!(refused("kT9#vLq2!mWz7xR", &[]), None);
        // Fourteen characters, one of them written with a combining accent.
        assert_eq!(refused("kTe\u{301}#vLq2!mWz7x", &[]), Some(short));
        assert_eq!(refused("🦀🐙🦑🦐🦞🐡🐠🐟🐬🐳🐋🦈🐊🐅", &[]), Some(short));
        assert_eq!(refused("🦀🐙🦑🦐🦞🐡🐠🐟🐬🐳🐋🦈🐊🐅🐆", &[]), None);
        assert_eq!(refused(&"kT9#".repeat(64), &[]), None);
        assert_eq!(refused(&format!("{}x", "kT9#".repeat(64)), &[]), Some(long));
        assert_eq!(refused(&"x".repeat(MAX_BYTES + 1), &[]), Some(long));
    }

    #[test]
    fn a_second_factor_policy_still_knows_common_passwords() {
        let policy = PasswordPolicy { min: 8, max: 64 };
        for common in ["password", "Password1", "12345678", "qwertyuiop", "senha123"] {
            assert_eq!(check(&policy, common, &[]).err(), Some(PasswordRefused::Common), "{common}");
        }
        assert!(check(&policy, "kT9#vLq2", &[]).is_ok());
    }

    #[test]
    fn derivatives_of_known_names_are_refused() {
        let context =
            ["Porteiro", "Padaria São João", "ana.lima", "login.acme-works.example", "IBM", "x", "", "Zoë"];
        for password in [
            "porteiroporteiro",
            "Porteiro2026!!!!!",
            "!!!PORTEIRO-porteiro-1",
            "padaria sa\u{303}o joa\u{303}o",
            "PadariaSãoJoão1",
            "padaria20262026!",
            "ana.lima.ana.lima",
            "AnaLima19901990",
            "lima_lima_lima_lima",
            "login.acme-works.example",
            "ibm202620262026!",
        ] {
            assert_eq!(refused(password, &context), Some(PasswordRefused::ContextWord), "{password}");
        }
        for password in [
            "my porteiro is a kind man",
            "porteiro🦀🐙🦑🦐🦞🐡🐠",
            "x8374-1029-4756-0192",
            "ana and lima went out",
        ] {
            assert_eq!(refused(password, &context), None, "{password}");
        }
        assert_eq!(refused("Porteiro2026!!!!!", &[]), None);
    }

    #[test]
    fn verification_asks_only_for_bounds() {
        assert!(normalise("").is_none());
        assert!(normalise(&"x".repeat(MAX_BYTES + 1)).is_none());
        assert!(normalise(&"x".repeat(MAX_BYTES)).is_some());
        let short = normalise("e\u{301}").unwrap();
        assert_eq!(short.as_bytes(), "é".as_bytes());
        assert_eq!(format!("{short:?}"), "<password>");
    }

    proptest! {
        /// ASVS 6.2.5: no rules of composition, in any script.
        #[test]
        fn anything_long_enough_and_not_listed_is_accepted(password in prop_oneof![
            "\\PC{15,60}",
            "[ a-z]{15,40}",
            "[0-9]{15,40}",
            "[e\u{301}\u{327} 🦀-🦟]{30,60}",
            prop::collection::vec(any::<char>(), 15..80).prop_map(|chars| chars.into_iter().collect()),
        ]) {
            let normal: String = password.nfc().collect();
            prop_assume!(normal.chars().count() >= POLICY.min);
            prop_assume!(!common::contains(&fold(&normal)));
            let accepted = check(&POLICY, &password, &[]);
            // The password that is set equals the one that is verified.
            prop_assert_eq!(accepted.map(|accepted| accepted.as_bytes().to_vec()), Ok(bytes(&password)));
        }

        /// ASVS 6.2.8: two passwords are equal only if their NFC is.
        #[test]
        fn nothing_is_cut_off_or_folded(one in "\\PC{1,90}", two in "\\PC{1,90}") {
            let same = one.nfc().eq(two.nfc());
            prop_assert_eq!(bytes(&one) == bytes(&two), same);
            prop_assert_eq!(bytes(&one), bytes(&one.nfd().collect::<String>()));
        }

        #[test]
        fn a_name_in_any_spelling_is_refused(name in "[a-zà-ö]{5,12}", times in 3_usize..6, tail in "[0-9!@#$. -]{0,9}") {
            let password = format!("{}{tail}", name.repeat(times));
            for spelling in [password.to_uppercase(), password.nfd().collect()] {
                prop_assert!(check(&POLICY, &spelling, &[&name]).is_err());
            }
        }
    }
}
