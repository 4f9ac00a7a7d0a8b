//! Mail addresses and phone numbers. Both are personal data: `Debug` hides them, and only the owner sees the unmasked
//! form.

use std::{
    fmt,
    hash::{Hash, Hasher},
};

use unicode_normalization::UnicodeNormalization;

/// RFC 5321 §4.5.3.1.1.
const MAX_LOCAL: usize = 64;
/// RFC 5321 §4.5.3.1.3, less the angle brackets.
const MAX_ADDRESS: usize = 254;
/// Longer input is refused before it is normalised.
const MAX_INPUT: usize = 1024;
const HIDDEN: &str = "•••";

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("the address is too long")]
    TooLong,
    #[error("an e-mail address must have one @ with a name before it")]
    Shape,
    #[error("the address contains a character that is not allowed")]
    Character,
    #[error("the part after the @ is not a domain name")]
    Domain,
    #[error("a phone number must be + and 8 to 15 digits")]
    Phone,
}

/// A mailbox. Two spellings of one mailbox are equal, so that another spelling does not bypass a limit or find
/// another account.
///
/// Mail is sent to the stored address, never to the spelling that was typed to find it.
#[derive(Clone)]
pub struct EmailAddress {
    text: String,
    canonical: String,
    local: usize,
}

impl EmailAddress {
    pub fn parse(typed: &str) -> Result<Self, AddressError> {
        if typed.len() > MAX_INPUT {
            return Err(AddressError::TooLong);
        }
        let text: String = typed.trim().nfc().collect();
        let (local, domain) = text.split_once('@').ok_or(AddressError::Shape)?;
        if local.is_empty() || domain.contains('@') {
            return Err(AddressError::Shape);
        }
        if text.chars().any(is_refused) {
            return Err(AddressError::Character);
        }
        // RFC 5322 §3.2.3, dot-atom: mail programs refuse the rest.
        if local.split('.').any(str::is_empty) {
            return Err(AddressError::Shape);
        }
        let domain = ascii_domain(domain)?;
        let address = format!("{local}@{domain}");
        if local.len() > MAX_LOCAL || address.len() > MAX_ADDRESS {
            return Err(AddressError::TooLong);
        }
        Ok(Self { canonical: format!("{}@{domain}", fold(local)), local: local.len(), text: address })
    }

    /// As typed, except for trimming, NFC and the domain: the address that mail is sent to.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The key of the mailbox. RFC 5321 §2.4 allows hosts to distinguish case; to support that is not worth the aliases.
    #[must_use]
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// The key for limits: without the detail that many hosts ignore on delivery (RFC 5233 §1, `ana+shop@`). Only for
    /// limits: where a host delivers `ana+shop` to another person, the two share one limit.
    #[must_use]
    pub fn without_detail(&self) -> String {
        let (local, domain) = self.canonical.rsplit_once('@').unwrap_or((&self.canonical, ""));
        let user = local.split_once('+').map_or(local, |(user, _)| user);
        format!("{}@{domain}", if user.is_empty() { local } else { user })
    }

    /// The part before the @, as typed.
    #[must_use]
    pub fn local_part(&self) -> &str {
        &self.text[..self.local]
    }

    /// The part after the @, in lower-case ASCII.
    #[must_use]
    pub fn domain(&self) -> &str {
        &self.text[self.local + 1..]
    }

    /// The masked form, by which the owner recognises the address.
    #[must_use]
    pub fn masked(&self) -> String {
        let first = |text: &str| text.chars().next().map(String::from).unwrap_or_default();
        let top = self.domain().rsplit('.').next().unwrap_or_default();
        format!("{}{HIDDEN}@{}{HIDDEN}.{top}", first(self.local_part()), first(self.domain()))
    }
}

impl PartialEq for EmailAddress {
    fn eq(&self, other: &Self) -> bool {
        self.canonical == other.canonical
    }
}
impl Eq for EmailAddress {}
impl Hash for EmailAddress {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.canonical.hash(state);
    }
}
impl fmt::Debug for EmailAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<e-mail address>")
    }
}

/// A phone number as ITU-T E.164 writes it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PhoneNumber(String);

impl PhoneNumber {
    pub fn parse(typed: &str) -> Result<Self, AddressError> {
        if typed.len() > MAX_INPUT {
            return Err(AddressError::TooLong);
        }
        let text: String =
            typed.chars().filter(|char| !char.is_whitespace() && !['-', '(', ')'].contains(char)).collect();
        let digits = text.strip_prefix('+').ok_or(AddressError::Phone)?;
        // No country code starts with zero; a number that does is written for dialling within a country.
        if !(8..=15).contains(&digits.len())
            || !digits.bytes().all(|byte| byte.is_ascii_digit())
            || digits.starts_with('0')
        {
            return Err(AddressError::Phone);
        }
        Ok(Self(text))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn masked(&self) -> String {
        format!("+{HIDDEN}{}", &self.0[self.0.len() - 2..])
    }
}

impl fmt::Debug for PhoneNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<phone number>")
    }
}

/// Characters that end a header or an address in some mail programs, or that are invisible.
fn is_refused(char: char) -> bool {
    char.is_control()
        || char.is_whitespace()
        || matches!(char, '"' | ',' | '<' | '>' | '(' | ')' | '[' | ']' | ':' | ';' | '\\')
        || matches!(
            char,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffd}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Folds character by character, so that a final sigma does not depend on its neighbours. No wider folding: `ı` and
/// `ſ` are other mailboxes than `i` and `s`.
fn fold(local: &str) -> String {
    let lower = local.chars().flat_map(char::to_lowercase).map(|char| if char == 'ς' { 'σ' } else { char });
    // Some pairs compose only after lower-casing.
    lower.nfc().collect()
}

fn ascii_domain(domain: &str) -> Result<String, AddressError> {
    // A URL's host may be percent-encoded, a mailbox's may not.
    if domain.contains('%') {
        return Err(AddressError::Domain);
    }
    let domain = match url::Host::parse(domain) {
        Ok(url::Host::Domain(domain)) => domain,
        Ok(url::Host::Ipv4(_) | url::Host::Ipv6(_)) | Err(_) => return Err(AddressError::Domain),
    };
    // RFC 1035 §2.3.1. A trailing dot would be a second name for the same mailbox.
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if domain.contains('.') && domain.split('.').all(label) { Ok(domain) } else { Err(AddressError::Domain) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> EmailAddress {
        EmailAddress::parse(text).unwrap()
    }

    #[test]
    fn limits_count_one_mailbox_whatever_the_detail() {
        for typed in ["ana@example.org", "Ana+1@example.org", "ana+a+b@EXAMPLE.org", "ANA+@example.org"] {
            assert_eq!(EmailAddress::parse(typed).unwrap().without_detail(), "ana@example.org", "{typed}");
        }
        assert_eq!(EmailAddress::parse("+1@example.org").unwrap().without_detail(), "+1@example.org");
        let (one, other) = (EmailAddress::parse("ana+1@example.org"), EmailAddress::parse("ana@example.org"));
        assert_ne!(one.unwrap(), other.unwrap(), "for everything else they are two");
    }

    #[test]
    fn ordinary_addresses_are_kept_as_typed() {
        for (typed, kept, canonical, masked) in [
            ("  Ana.Lima@Example.TEST ", "Ana.Lima@example.test", "ana.lima@example.test", "A•••@e•••.test"),
            ("o'brien+x@a.b.co.uk", "o'brien+x@a.b.co.uk", "o'brien+x@a.b.co.uk", "o•••@a•••.uk"),
            (
                "José@bücher.example",
                "José@xn--bcher-kva.example",
                "josé@xn--bcher-kva.example",
                "J•••@x•••.example",
            ),
            ("a@ｅxample。com", "a@example.com", "a@example.com", "a•••@e•••.com"),
        ] {
            let address = parse(typed);
            assert_eq!((address.as_str(), address.canonical()), (kept, canonical), "{typed}");
            assert_eq!(address.masked(), masked);
            assert_eq!(format!("{address:?}"), "<e-mail address>");
        }
        let address = parse("Ana@Example.test");
        assert_eq!((address.local_part(), address.domain()), ("Ana", "example.test"));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        use AddressError::{Character, Domain, Shape, TooLong};
        let long_local = format!("{}@example.test", "a".repeat(65));
        let long = format!("a@{}", ["a".repeat(60).as_str(); 5].join("."));
        let huge = "a".repeat(2_000);
        for (typed, error) in [
            ("", Shape),
            ("ana", Shape),
            ("@example.test", Shape),
            ("a@b@example.test", Shape),
            (".a@example.test", Shape),
            ("a..b@example.test", Shape),
            ("a b@example.test", Character),
            ("a\r\nBcc:x@example.test", Character),
            ("a\0@example.test", Character),
            ("\"a\"@example.test", Character),
            ("a,b@example.test", Character),
            ("Ana <ana@example.test>", Character),
            ("a\u{202e}b@example.test", Character),
            ("a\u{200b}b@example.test", Character),
            ("a@exa\u{ad}mple.test", Character),
            ("a@[127.0.0.1]", Character),
            ("a@", Domain),
            ("a@localhost", Domain),
            ("a@127.0.0.1", Domain),
            ("a@0x7f.1", Domain),
            ("a@example.test.", Domain),
            ("a@.example.test", Domain),
            ("a@example..test", Domain),
            ("a@-example.test", Domain),
            ("a@exa_mple.test", Domain),
            ("a@ex%61mple.test", Domain),
            ("a@example.test/x", Domain),
            ("a@xn--a.test", Domain),
            (&long_local, TooLong),
            (&long, TooLong),
            (&huge, TooLong),
        ] {
            assert_eq!(EmailAddress::parse(typed).err(), Some(error), "{typed:?}");
        }
    }

    #[test]
    fn spellings_of_one_mailbox_are_equal_and_lookalikes_are_not() {
        for (one, two) in [
            ("jose\u{301}@example.test", "JOSÉ@EXAMPLE.test"),
            ("ὀδυσσεύς@example.test", "ὈΔΥΣΣΕΎΣ@example.test"),
            ("\u{1f0}@example.test", "J\u{30c}@example.test"),
        ] {
            assert_eq!(parse(one), parse(two));
        }
        for other in ["g\u{131}thub@example.test", "githu\u{184}@example.test", "gıthub@example.test"] {
            assert_ne!(parse("github@example.test"), parse(other));
        }
        assert_ne!(parse("gits@example.test"), parse("git\u{17f}@example.test"));
    }

    #[test]
    fn phone_numbers_are_e164() {
        let number = PhoneNumber::parse(" +55 (11) 98765-4321 ").unwrap();
        assert_eq!(number.as_str(), "+5511987654321");
        assert_eq!(number.masked(), "+•••21");
        assert_eq!(format!("{number:?}"), "<phone number>");
        for bad in [
            "",
            "+",
            "5511987654321",
            "+1234567",
            "+1234567890123456",
            "+0011987654321",
            "+55119٣",
            "++5511987654",
            "+5511x98765",
        ] {
            assert!(PhoneNumber::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn canonical_is_a_fixed_point(local in "[\\PC--[\"(),:;<>@\\[\\]\\\\.]]{1,12}", domain in "[a-zA-Z0-9éß]{1,9}\\.[a-z]{2,5}") {
            if let Ok(address) = EmailAddress::parse(&format!("{local}@{domain}")) {
                if let Ok(again) = EmailAddress::parse(address.canonical()) {
                    prop_assert_eq!(again.canonical(), address.canonical());
                    prop_assert_eq!(again.as_str(), address.canonical());
                } else {
                    // Some letters grow when lower-cased; no other error is expected.
                    prop_assert!(address.canonical().split('@').next().is_some_and(|local| local.len() > MAX_LOCAL));
                }
            }
        }

        #[test]
        fn case_and_composition_do_not_matter(local in "[a-z0-9à-öø-ÿα-ωá-ź+_-]{1,10}", domain in "[a-zé]{1,9}\\.test") {
            let typed = format!("{local}@{domain}");
            // Letters that share their capital with another letter are not case variants.
            prop_assume!(!local.contains(['ı', 'ŉ', 'ſ', 'ß', 'İ']));
            let address = EmailAddress::parse(&typed).unwrap();
            for other in [typed.to_uppercase(), typed.nfd().collect(), typed.to_uppercase().nfd().collect()] {
                let other = EmailAddress::parse(&other).unwrap();
                prop_assert_eq!(other.canonical(), address.canonical());
            }
        }

        #[test]
        fn nothing_a_stranger_types_panics(typed in "\\PC*", phone in "[+0-9 ()-]{0,20}") {
            let _ = EmailAddress::parse(&typed).map(|address| address.masked());
            if let Ok(number) = PhoneNumber::parse(&phone) {
                prop_assert!(PhoneNumber::parse(number.as_str()).unwrap() == number);
                prop_assert!(number.masked().ends_with(&number.as_str()[number.as_str().len() - 2..]));
            }
        }
    }
}
