//! HTTP Basic as OAuth defines it.

use base64::{Engine, engine::general_purpose::STANDARD};
use porteiro_protocol::form::Parameters;

/// RFC 6749 §2.3.1: both parts are form-encoded before they are joined. Malformed encodings are refused.
pub(super) fn basic(credentials: &str) -> Option<(String, String)> {
    let bytes = STANDARD.decode(credentials).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (id, secret) = text.split_once(':')?;
    Some((decode(id)?, decode(secret)?))
}

fn decode(text: &str) -> Option<String> {
    let form = Parameters::parse(format!("v={text}").as_bytes()).ok()?;
    if form.names().count() != 1 {
        return None;
    }
    form.get("v").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_credentials_are_form_encoded() {
        let encode = |text: &str| STANDARD.encode(text);
        assert_eq!(basic(&encode("a%20b:c%3Ad")), Some(("a b".into(), "c:d".into())));
        for bad in ["nocolon", "a:%zz", ":x", "x:", "a&b=1:c"] {
            assert_eq!(basic(&encode(bad)), None, "{bad}");
        }
        assert_eq!(basic("not base64!"), None);
    }
}
