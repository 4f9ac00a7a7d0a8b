//! Decimal amounts, compared as text. In floating point, 2^53 and 2^53 + 1 would be equal.

use std::cmp::Ordering;

use serde_json::Number;

const MAX_TEXT: usize = 64;

/// Zero has no digits. Otherwise 0.d1d2d3... times ten to the power of `magnitude`; the first and the last digit are
/// not zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    magnitude: i64,
    digits: Vec<u8>,
}

impl Decimal {
    pub(super) fn from_number(number: &Number) -> Option<Self> {
        let text = number.to_string();
        match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => Self::read(mantissa, exponent.parse().ok()?),
            None => Self::read(&text, 0),
        }
    }

    /// A JSON number (RFC 8259 §6) without exponent.
    pub(super) fn parse(text: &str) -> Option<Self> {
        Self::read(text, 0)
    }

    pub(super) fn is_negative(&self) -> bool {
        self.negative
    }

    fn read(text: &str, exponent: i32) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, fraction) = match text.split_once('.') {
            Some((_, "")) => return None,
            Some(parts) => parts,
            None => (text, ""),
        };
        let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let starts_well = whole == "0" || !(whole.is_empty() || whole.starts_with('0'));
        if text.len() > MAX_TEXT || !starts_well || !all_digits(whole) || !all_digits(fraction) {
            return None;
        }
        let written = [whole, fraction].concat();
        let significant = written.trim_start_matches('0');
        let zeros = written.len() - significant.len();
        let digits = significant.trim_end_matches('0').as_bytes().to_vec();
        if digits.is_empty() {
            return Some(Self { negative: false, magnitude: 0, digits });
        }
        let magnitude = i64::from(exponent) + i64::try_from(whole.len()).ok()? - i64::try_from(zeros).ok()?;
        Some(Self { negative, magnitude, digits })
    }

    fn sign(&self) -> i8 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let size = || (self.magnitude, &self.digits).cmp(&(other.magnitude, &other.digits));
        self.sign().cmp(&other.sign()).then_with(|| if self.negative { size().reverse() } else { size() })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn number(value: impl serde::Serialize) -> Decimal {
        Decimal::from_number(json!(value).as_number().unwrap()).unwrap()
    }
    fn text(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn decimals_in_order() {
        let ordered =
            ["-100", "-99.9", "-1.5", "-1.25", "-0.001", "0", "0.001", "0.01", "1", "1.05", "1.5", "9", "10"];
        for (one, first) in ordered.iter().enumerate() {
            for (other, second) in ordered.iter().enumerate() {
                assert_eq!(text(first).cmp(&text(second)), one.cmp(&other), "{first} {second}");
            }
        }
        assert_eq!(text("1.50"), text("1.5"));
        assert_eq!(text("-0.0"), text("0"));
        assert!(number(9_007_199_254_740_993_u64) > number(9_007_199_254_740_992.0));
        assert_eq!(number(1e21), text("1000000000000000000000"));
        assert_eq!(number(1e-7), text("0.0000001"));
    }

    #[test]
    fn only_one_way_to_write_them() {
        for bad in
            ["", "-", "+1", " 1", "1 ", "1.", ".5", "01", "1,5", "1e3", "0x1", "١", "--1", "1.2.3", "NaN"]
        {
            assert_eq!(Decimal::parse(bad), None, "{bad}");
        }
        assert_eq!(Decimal::parse(&"1".repeat(65)), None);
    }

    proptest! {
        #[test]
        fn as_integers_and_floats_compare(a in any::<i64>(), b in any::<i64>(), x in any::<f64>(), y in any::<f64>()) {
            prop_assert_eq!(number(a).cmp(&number(b)), a.cmp(&b));
            prop_assert_eq!(text(&a.to_string()).cmp(&text(&b.to_string())), a.cmp(&b));
            prop_assume!(x.is_finite() && y.is_finite());
            prop_assert_eq!(Some(number(x).cmp(&number(y))), x.partial_cmp(&y));
        }
    }
}
