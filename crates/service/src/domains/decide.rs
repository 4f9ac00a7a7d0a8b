//! Which names can be an organization's domain, and the record that proves it. Pure.

use data_encoding::BASE32_NOPAD;
use url::Host;

/// The longest name (RFC 1035 §2.3.4), in the form that is written, without the label and its dot.
const LONGEST: usize = 253 - LABEL.len() - 1;
const LABEL: &str = "_idp-challenge";
/// Names outside the public system (RFC 6761, RFC 6762, RFC 7686, RFC 8375, RFC 9476) and those that many networks use
/// for themselves. Looking one up would tell strangers about the operator's network.
const SPECIAL: &[&str] =
    &["alt", "arpa", "corp", "home", "internal", "invalid", "lan", "local", "localhost", "onion"];

/// Everybody can have an address there, so nobody's directory can vouch for one. The owners could prove the name, and
/// have no use for it here.
const MAILBOX_PROVIDERS: &[&str] = &[
    "126.com",
    "163.com",
    "aol.com",
    "bol.com.br",
    "comcast.net",
    "fastmail.com",
    "free.fr",
    "gmail.com",
    "gmx.at",
    "gmx.ch",
    "gmx.com",
    "gmx.de",
    "gmx.net",
    "googlemail.com",
    "hey.com",
    "hotmail.co.uk",
    "hotmail.com",
    "hotmail.com.br",
    "hotmail.de",
    "hotmail.es",
    "hotmail.fr",
    "hotmail.it",
    "icloud.com",
    "ig.com.br",
    "laposte.net",
    "libero.it",
    "live.com",
    "mac.com",
    "mail.com",
    "mail.ru",
    "me.com",
    "msn.com",
    "naver.com",
    "orange.fr",
    "outlook.com",
    "outlook.com.br",
    "outlook.de",
    "outlook.fr",
    "pm.me",
    "posteo.de",
    "proton.me",
    "protonmail.com",
    "qq.com",
    "sapo.pt",
    "sina.com",
    "t-online.de",
    "terra.com.br",
    "tuta.com",
    "tutanota.com",
    "uol.com.br",
    "web.de",
    "yahoo.co.jp",
    "yahoo.co.uk",
    "yahoo.com",
    "yahoo.com.br",
    "yahoo.de",
    "yahoo.fr",
    "yandex.com",
    "yandex.ru",
    "ymail.com",
    "zoho.com",
];

/// The name in the form in which it is stored and compared: lower case, ASCII (RFC 5890), without the last dot.
///
/// # Errors
/// What is wrong, in words for the caller.
pub fn normalize(name: &str) -> Result<String, &'static str> {
    let malformed = "name must be a domain such as example.com";
    let name = name.strip_suffix('.').unwrap_or(name);
    let Ok(Host::Domain(name)) = Host::parse(name) else { return Err(malformed) };
    let fits = |label: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !label.is_empty() && label.len() <= 63 && label.bytes().all(known)
    };
    if name.len() > LONGEST || !name.contains('.') || !name.split('.').all(fits) {
        return Err(malformed);
    }
    if name.rsplit('.').next().is_some_and(|last| SPECIAL.contains(&last)) {
        return Err("name is not one of the public domain name system");
    }
    if psl::domain_str(&name).is_none() {
        return Err("name is a public suffix, under which others have domains of their own");
    }
    if MAILBOX_PROVIDERS.contains(&name.as_str()) {
        return Err("name is a provider of mailboxes, whose addresses belong to their users");
    }
    Ok(name)
}

/// The domain of an address, in the same form; `None` where it has none that could be proved.
pub fn of_address(address: &str) -> Option<String> {
    let (_, domain) = address.rsplit_once('@')?;
    normalize(domain).ok()
}

/// Where the record is published.
pub fn host(name: &str) -> String {
    format!("{LABEL}.{name}")
}

/// The value of the record: 128 bits that only this organization is told.
pub fn value(random: [u8; 16]) -> String {
    format!("idp-domain-verification={}", BASE32_NOPAD.encode(&random).to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_in_one_form() {
        for name in ["example.com", "EXAMPLE.com", "example.com."] {
            assert_eq!(normalize(name).as_deref(), Ok("example.com"));
        }
        assert_eq!(normalize("münchen.de").as_deref(), Ok("xn--mnchen-3ya.de"));
        assert_eq!(normalize("team.example.co.uk").as_deref(), Ok("team.example.co.uk"));
    }

    #[test]
    fn a_name_that_nobody_owns_alone_cannot_be_claimed() {
        for name in [
            "com",
            "db.corp.internal",
            "a.svc.cluster.local",
            "1.0.0.127.in-addr.arpa",
            "www.localhost",
            "co.uk",
            "com.br",
            "github.io",
            "gmail.com",
            "GMail.com.",
            "127.0.0.1",
            "[::1]",
            "2130706433",
        ] {
            assert!(normalize(name).is_err(), "{name}");
        }
        let long = format!("{}.com", "a.".repeat(126));
        for name in ["", ".", "a..com", "a b.com", "a_b.com", "*.com", "a/b.com", "user@example.com", &long] {
            assert!(normalize(name).is_err(), "{name}");
        }
    }

    #[test]
    fn an_address_has_the_domain_after_its_last_at_sign() {
        assert_eq!(of_address("ana@Example.com").as_deref(), Some("example.com"));
        assert_eq!(of_address("\"a@example.com\"@evil.example").as_deref(), Some("evil.example"));
        for address in ["ana", "ana@", "ana@com", "ana@gmail.com", "ana@sub.example.com@"] {
            assert_eq!(of_address(address), None, "{address}");
        }
        assert_eq!(of_address("ana@sub.example.com").as_deref(), Some("sub.example.com"));
    }
}
