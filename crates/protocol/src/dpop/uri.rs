//! Comparison of `htu` (RFC 9449 §4.3): without query and fragment, after the normalisation of RFC 3986 §§6.2.2 and
//! 6.2.3.

use url::Url;

use crate::redirect_uri::is_uri_text;

const MAX_HTU: usize = 2000;

pub(super) fn same(presented: &str, ours: &str) -> bool {
    match (normal(presented), normal(ours)) {
        (Some(presented), Some(ours)) => presented == ours,
        _ => false,
    }
}

/// Scheme, host and port, and path. The URL parser normalises case, default ports, dot segments and the empty path.
fn normal(text: &str) -> Option<(url::Origin, Vec<u8>)> {
    let text = text.split(['?', '#']).next().filter(|text| text.len() <= MAX_HTU)?;
    // A URL parser repairs text that is not a URI: backslashes, tabs, missing slashes.
    let (scheme, rest) = text.split_once("://")?;
    if !is_uri_text(text.as_bytes()) || rest.starts_with('/') {
        return None;
    }
    if !["https", "http"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return None;
    }
    let url = Url::parse(text).ok()?;
    if !url.username().is_empty() || url.password().is_some() {
        return None;
    }
    Some((url.origin(), normal_path(url.path().as_bytes())))
}

/// RFC 3986 §6.2.2.1 and §6.2.2.2: upper-case hexadecimal digits, and unreserved characters decoded.
fn normal_path(path: &[u8]) -> Vec<u8> {
    let mut normal = Vec::with_capacity(path.len());
    let mut rest = path;
    while let [first, tail @ ..] = rest {
        rest = tail;
        let Some(byte) = escaped(*first, tail) else {
            normal.push(*first);
            continue;
        };
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            normal.push(byte);
        } else {
            normal.push(b'%');
            normal.extend(tail.iter().take(2).map(u8::to_ascii_uppercase));
        }
        rest = tail.get(2..).unwrap_or_default();
    }
    normal
}

fn escaped(first: u8, tail: &[u8]) -> Option<u8> {
    let (b'%', [high, low, ..]) = (first, tail) else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OURS: &str = "https://login.example.com/connect/token";

    #[test]
    fn spellings_of_one_address_are_one() {
        for spelling in [
            OURS,
            "HTTPS://LOGIN.example.COM/connect/token",
            "https://login.example.com:443/connect/token",
            "https://login.example.com:/connect/token",
            "https://login.example.com/connect/./x/../token",
            "https://login.example.com/%63onnect/toke%6E",
            "https://login.example.com/connect/token?a=b",
            "https://login.example.com/connect/token#c",
            "https://login.example.com/connect/token?#",
        ] {
            assert!(same(spelling, OURS), "{spelling}");
        }
        assert!(same("http://a.example", "http://a.example:80/"));
        assert!(same("https://a.example/%e2%82%ac%7e", "https://a.example/%E2%82%AC~"));
    }

    #[test]
    fn other_addresses_stay_other() {
        for other in [
            "",
            "/connect/token",
            "http://login.example.com/connect/token",
            "https://login.example.com:8443/connect/token",
            "https://login.example.com./connect/token",
            "https://login.example.com/connect/token/",
            "https://login.example.com/connect/Token",
            "https://login.example.com/connect%2Ftoken",
            "https://login.example.com/connect//token",
            "https://user@login.example.com/connect/token",
            "https://:secret@login.example.com/connect/token",
            "https:/login.example.com/connect/token",
            "https:///login.example.com/connect/token",
            "https:\\\\login.example.com\\connect\\token",
            "https://login.example.com/connect/to\tken",
            " https://login.example.com/connect/token",
            "https://login.example.com/connect/token%",
            "ftp://login.example.com/connect/token",
        ] {
            assert!(!same(other, OURS), "{other}");
        }
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing(path in "/([a-z0-9._~!$-]|%[0-9a-fA-F]{2}|/){0,20}") {
            let once = normal_path(path.as_bytes());
            prop_assert_eq!(normal_path(&once), once.clone());
        }

        #[test]
        fn any_text_has_an_answer(text in ".{0,60}") {
            prop_assert!(!same(&text, OURS) || text.to_ascii_lowercase().starts_with("https://"));
        }
    }
}
