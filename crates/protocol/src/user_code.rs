//! The user code of a device (RFC 8628 §6.1): eight consonants, so that it forms no word and no letter is mistaken
//! for a digit.

use std::fmt;

use crate::entropy::Entropy;

const ALPHABET: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
pub const LETTERS: usize = 8;

/// 34.6 bits: enough where guesses are limited and a code is valid for minutes.
#[derive(Clone, PartialEq, Eq)]
pub struct UserCode([u8; LETTERS]);

impl UserCode {
    #[must_use]
    pub fn generate(entropy: &dyn Entropy) -> Self {
        // Bytes above the last whole multiple of twenty are skipped: their remainder would favour the first letters.
        const LIMIT: u8 = u8::MAX / 20 * 20;
        let letter = || loop {
            let [draw] = entropy.bytes::<1>();
            if draw < LIMIT {
                return ALPHABET[usize::from(draw) % ALPHABET.len()];
            }
        };
        Self(std::array::from_fn(|_| letter()))
    }

    /// Reads a typed code or one from a link. Case and separators do not matter.
    #[must_use]
    pub fn parse(typed: &str) -> Option<Self> {
        let mut letters = [0; LETTERS];
        let mut count = 0;
        for char in typed.chars().filter(|char| !char.is_whitespace() && !char.is_ascii_punctuation()) {
            let letter = u8::try_from(char.to_ascii_uppercase()).ok().filter(|it| ALPHABET.contains(it))?;
            *letters.get_mut(count)? = letter;
            count += 1;
        }
        (count == LETTERS).then_some(Self(letters))
    }

    /// The canonical spelling, used for look-up.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// In two groups, as the device shows it.
impl fmt::Display for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, letter) in self.0.iter().enumerate() {
            if index == LETTERS / 2 {
                f.write_str("-")?;
            }
            write!(f, "{}", char::from(*letter))?;
        }
        Ok(())
    }
}

impl fmt::Debug for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<user code>")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use proptest::prelude::*;

    use super::*;

    /// Returns these bytes in order, repeatedly.
    struct Bytes(Mutex<std::iter::Cycle<std::vec::IntoIter<u8>>>);

    impl Entropy for Bytes {
        fn fill(&self, bytes: &mut [u8]) {
            let mut given = self.0.lock().unwrap();
            bytes.fill_with(|| given.next().unwrap());
        }
    }

    fn from_bytes(bytes: Vec<u8>) -> UserCode {
        UserCode::generate(&Bytes(Mutex::new(bytes.into_iter().cycle())))
    }

    #[test]
    fn draws_that_would_favour_letters_are_thrown_away() {
        let fair = from_bytes((0..20).collect());
        let with_high = from_bytes((0..20).flat_map(|byte| [240, byte, 255]).collect());
        assert_eq!(fair, with_high);
        assert_eq!(fair.to_string(), "BCDF-GHJK");
    }

    #[test]
    fn people_type_it_their_way() {
        let code = UserCode::parse("WDJBMJHT").unwrap();
        for typed in ["WDJB-MJHT", "wdjb mjht", " wd.jb_mj-ht\n", "W D J B M J H T"] {
            assert_eq!(UserCode::parse(typed), Some(code.clone()), "{typed}");
        }
        // Vowels, digits, letters of other scripts, too short, too long.
        for typed in ["", "WDJB-MJH", "WDJB-MJHTT", "WDJB-MJHA", "WDJB-MJH1", "WDJB-МJHT", "ＷDJB-MJHT"] {
            assert_eq!(UserCode::parse(typed), None, "{typed}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_what_is_typed(bytes in prop::collection::vec(any::<u8>(), 1..64)) {
            prop_assume!(bytes.iter().any(|byte| *byte < 240));
            let code = from_bytes(bytes);
            prop_assert_eq!(UserCode::parse(&code.to_string()), Some(code.clone()));
            prop_assert_eq!(UserCode::parse(&code.to_string().to_lowercase()), Some(code));
        }

        #[test]
        fn junk_is_no_code(text in "\\PC*") {
            if let Some(code) = UserCode::parse(&text) {
                prop_assert_eq!(code.as_bytes().len(), LETTERS);
            }
        }
    }
}
