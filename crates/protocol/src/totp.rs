//! Time-based one-time passwords: RFC 6238 over RFC 4226, with the parameters that every authenticator app supports.

use std::fmt;

use aws_lc_rs::hmac;
use data_encoding::BASE32_NOPAD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use crate::{entropy::Entropy, one_time_code::OneTimeCode, time::OffsetDateTime};

/// RFC 6238 §4.1: X.
pub const PERIOD_SECONDS: i64 = 30;
/// RFC 6238 §5.2: accepted clock drift of a phone, in steps.
const DRIFT: i64 = 1;
const MODULUS: u32 = 1_000_000;

/// 160 bits, the length RFC 4226 §4 R6 recommends. Stored encrypted.
pub struct TotpSecret(Zeroizing<[u8; 20]>);

/// RFC 6238 §4.2: T.
#[must_use]
pub fn step_at(now: OffsetDateTime) -> i64 {
    now.unix_timestamp().div_euclid(PERIOD_SECONDS)
}

impl TotpSecret {
    #[must_use]
    pub fn generate(entropy: &dyn Entropy) -> Self {
        Self(Zeroizing::new(entropy.bytes()))
    }

    /// `None` unless there are exactly 20 bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(|bytes| Self(Zeroizing::new(bytes)))
    }

    /// For the cipher that stores it.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    /// For typing into an app: RFC 4648 §6, without padding, as apps expect.
    #[must_use]
    pub fn to_base32(&self) -> Zeroizing<String> {
        Zeroizing::new(BASE32_NOPAD.encode(self.0.as_slice()))
    }

    /// The content of the QR code. It contains the secret: show it once.
    #[must_use]
    pub fn otpauth_uri(&self, issuer: &str, account_name: &str) -> String {
        // Apps split the label at its first colon, even an encoded one.
        let (issuer, account_name) = (issuer.replace(':', " "), account_name.replace(':', " "));
        let (issuer, account_name) = (percent_encode(issuer.trim()), percent_encode(account_name.trim()));
        let secret = self.to_base32();
        format!(
            "otpauth://totp/{issuer}:{account_name}?secret={}&issuer={issuer}&algorithm=SHA1&digits=6&period=30",
            *secret
        )
    }

    /// RFC 4226 §5.3, with the step as the counter.
    #[must_use]
    pub fn code(&self, step: i64) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, self.0.as_slice());
        let tag = hmac::sign(&key, &step.to_be_bytes());
        let tag = tag.as_ref();
        let offset = usize::from(tag.last().copied().unwrap_or_default() & 15);
        let bits = tag.iter().skip(offset).take(4).fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        format!("{:06}", (bits & 0x7fff_ffff) % MODULUS)
    }

    /// The step of this code, if it is within the drift and later than the last accepted step.
    ///
    /// A code is accepted once (RFC 6238 §5.2): store the step, under a condition that it increases. Every candidate
    /// is compared, in constant time, so that the duration does not reveal which step matched.
    #[must_use]
    pub fn matching_step(&self, code: &str, now: OffsetDateTime, last_accepted: i64) -> Option<i64> {
        let code = Zeroizing::new(OneTimeCode::normalise(code)?);
        let current = step_at(now);
        let mut found = Choice::from(0);
        let mut matching = 0;
        // Ascending, and the last match wins: if two steps share a code, using it invalidates both.
        for step in current.saturating_sub(DRIFT)..=current.saturating_add(DRIFT) {
            let candidate = Zeroizing::new(self.code(step));
            let hit =
                candidate.as_bytes().ct_eq(code.as_bytes()) & Choice::from(u8::from(step > last_accepted));
            matching.conditional_assign(&step, hit);
            found |= hit;
        }
        bool::from(found).then_some(matching)
    }
}

impl fmt::Debug for TotpSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<TOTP secret>")
    }
}

/// RFC 3986 §2.3: everything except the unreserved characters. A form encoder's `+` would be shown as a plus.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

fn percent_encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rfc_secret() -> TotpSecret {
        TotpSecret::from_bytes(b"12345678901234567890").unwrap()
    }
    fn at(seconds: i64) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(seconds).unwrap()
    }

    /// RFC 4226 appendix D.
    #[test]
    fn hotp_vectors() {
        let expected = [
            "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871",
            "520489",
        ];
        for (step, code) in (0..).zip(expected) {
            assert_eq!(rfc_secret().code(step), code, "{step}");
        }
    }

    /// RFC 6238 appendix B, SHA-1: it has eight digits, of which the last six are ours.
    #[test]
    fn totp_vectors() {
        for (seconds, step, code) in [
            (59, 0x1, "94287082"),
            (1_111_111_109, 0x023_523ec, "07081804"),
            (1_111_111_111, 0x023_523ed, "14050471"),
            (1_234_567_890, 0x273_ef07, "89005924"),
            (2_000_000_000, 0x3f9_40aa, "69279037"),
            (20_000_000_000, 0x27b_c86aa, "65353130"),
        ] {
            assert_eq!(step_at(at(seconds)), step, "{seconds}");
            assert_eq!(rfc_secret().code(step), code[2..], "{seconds}");
        }
        assert_eq!(step_at(at(-1)), -1);
    }

    #[test]
    fn the_window_is_one_step_either_way_and_moves_on() {
        let (secret, now) = (rfc_secret(), at(1_234_567_890));
        let current = step_at(now);
        for (offset, accepted) in [(-2, false), (-1, true), (0, true), (1, true), (2, false)] {
            let found = secret.matching_step(&secret.code(current + offset), now, 0);
            assert_eq!(found, accepted.then_some(current + offset), "{offset}");
        }
        let code = secret.code(current);
        assert_eq!(secret.matching_step(&format!("{} {}", &code[..3], &code[3..]), now, 0), Some(current));
        assert_eq!(secret.matching_step(&code, now, current - 1), Some(current));
        assert_eq!(secret.matching_step(&code, now, current), None);
        assert_eq!(secret.matching_step(&code, now, current + 1), None);
        for bad in ["", "12345", "1234567", "abcdef"] {
            assert_eq!(secret.matching_step(bad, now, 0), None);
        }
    }

    #[test]
    fn apps_can_read_it() {
        let secret = rfc_secret();
        assert_eq!(*secret.to_base32(), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        assert_eq!(
            secret.otpauth_uri("Padaria São João: SP", "ana+x@example.test"),
            "otpauth://totp/Padaria%20S%C3%A3o%20Jo%C3%A3o%20%20SP:ana%2Bx%40example.test\
             ?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Padaria%20S%C3%A3o%20Jo%C3%A3o%20%20SP\
             &algorithm=SHA1&digits=6&period=30"
        );
        assert_eq!(format!("{secret:?}"), "<TOTP secret>");
        assert!(TotpSecret::from_bytes(&[0; 19]).is_none());
        assert_eq!(secret.as_bytes(), b"12345678901234567890");
    }

    proptest! {
        /// An accepted code is never accepted again.
        #[test]
        fn a_step_is_accepted_once(bytes in any::<[u8; 20]>(), now in 0_i64..4_000_000_000, offset in -3_i64..=3, wait in 0_i64..=120) {
            let secret = TotpSecret::from_bytes(&bytes).unwrap();
            let code = secret.code(step_at(at(now)) + offset);
            if let Some(step) = secret.matching_step(&code, at(now), i64::MIN) {
                prop_assert_eq!(&secret.code(step), &code);
                prop_assert!((step - step_at(at(now))).abs() <= 1);
                prop_assert_eq!(secret.matching_step(&code, at(now), step), None);
                let again = secret.matching_step(&code, at(now + wait), step);
                prop_assert!(again.is_none_or(|again| again > step));
            } else {
                prop_assert!(offset.abs() > 1);
            }
        }
    }
}
