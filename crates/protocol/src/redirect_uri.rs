//! Redirect URIs: which may be registered, and the only difference allowed between a presented and a registered one
//! (OAuth 2.1 §2.3, §4.1.1 and §8.4; RFC 8252 §§7.1 and 7.3).

use std::fmt;

use serde::{Deserialize, Serialize};
use url::Url;

pub const MAX_REDIRECT_URI: usize = 2000;
/// Hosts where plain http stays on the machine. No other spellings of these are accepted.
const LOOPBACK_HOSTS: [&str; 3] = ["127.0.0.1", "[::1]", "localhost"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RedirectUriError {
    #[error("a redirect URI must have 1 to {MAX_REDIRECT_URI} bytes")]
    Length,
    #[error("a redirect URI must be an absolute URI")]
    NotAbsolute,
    #[error("a redirect URI contains a character that must be percent-encoded")]
    Character,
    #[error("a redirect URI must not have a fragment")]
    Fragment,
    #[error("a redirect URI must not contain a wildcard")]
    Wildcard,
    #[error("a redirect URI must not have a user name or password")]
    UserInfo,
    #[error("a redirect URI must have one host and at most one port, in normalized form")]
    Authority,
    #[error("http is allowed only for 127.0.0.1, [::1] and localhost")]
    PlainHttp,
    #[error(
        "the scheme of a redirect URI must be https, http on loopback, or a lower-case private-use scheme with a dot"
    )]
    Scheme,
}

/// A registered redirect URI, stored as the client wrote it.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RedirectUri(String);

impl RedirectUri {
    /// # Errors
    /// When the text is not a URI that may be registered.
    pub fn register(text: &str) -> Result<Self, RedirectUriError> {
        if text.is_empty() || text.len() > MAX_REDIRECT_URI {
            return Err(RedirectUriError::Length);
        }
        if text.contains('#') {
            return Err(RedirectUriError::Fragment);
        }
        if text.contains('*') {
            return Err(RedirectUriError::Wildcard);
        }
        if !is_uri_text(text.as_bytes()) {
            return Err(RedirectUriError::Character);
        }
        let (scheme, rest) = text.split_once(':').ok_or(RedirectUriError::NotAbsolute)?;
        match scheme {
            "https" | "http" => check_web(text, scheme, rest)?,
            _ => check_private_use(scheme, rest)?,
        }
        Ok(Self(text.to_owned()))
    }

    /// RFC 9700 §2.1: simple string comparison. For http on loopback any port matches, since the system assigns it
    /// when the app starts (RFC 8252 §7.3). Nothing is normalised.
    #[must_use]
    pub fn matches(&self, presented: &str) -> bool {
        presented == self.0
            || matches!(
                (split_loopback(&self.0), split_loopback(presented)),
                (Some(registered), Some(presented)) if registered == presented
            )
    }

    #[must_use]
    pub fn is_loopback(&self) -> bool {
        split_loopback(&self.0).is_some()
    }

    /// The host, to be shown to a person. `None` for a private-use URI: its scheme is chosen freely, and one such as
    /// `accounts.example.com` would be mistaken for a host.
    #[must_use]
    pub fn host_for_display(&self) -> &str {
        let web = self.0.strip_prefix("https://").or_else(|| self.0.strip_prefix("http://"));
        match web {
            Some(rest) => split_port(split_authority(rest).0).0,
            None => "",
        }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The characters of RFC 3986 §2; `%` only before two hexadecimal digits. Browsers treat a backslash as a slash and
/// drop tabs and line breaks, so they would open another URI than the one that was compared.
pub(crate) fn is_uri_text(text: &[u8]) -> bool {
    text.iter().enumerate().all(|(index, byte)| match byte {
        b'%' => text.get(index + 1..index + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)),
        other => other.is_ascii_alphanumeric() || b"-._~:/?[]@!$&'()*+,;=".contains(other),
    })
}

fn check_web(text: &str, scheme: &str, rest: &str) -> Result<(), RedirectUriError> {
    let rest = rest.strip_prefix("//").ok_or(RedirectUriError::NotAbsolute)?;
    let (authority, _) = split_authority(rest);
    if authority.contains('@') {
        return Err(RedirectUriError::UserInfo);
    }
    let (host, port) = split_port(authority);
    if !port.is_none_or(is_port) {
        return Err(RedirectUriError::Authority);
    }
    // A second parser: refuse a host that a URL parser changes, such as 127.1 or 0x7f.0.0.1.
    let url = Url::parse(text).map_err(|_| RedirectUriError::Authority)?;
    if !url.host_str().is_some_and(|parsed| parsed.eq_ignore_ascii_case(host)) {
        return Err(RedirectUriError::Authority);
    }
    if scheme == "http" && !LOOPBACK_HOSTS.contains(&host) {
        return Err(RedirectUriError::PlainHttp);
    }
    Ok(())
}

/// RFC 8252 §7.1: a domain name under the app's control, in reverse order; here at least a dot is required.
fn check_private_use(scheme: &str, rest: &str) -> Result<(), RedirectUriError> {
    let label = |label: &str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+-".contains(&byte))
    };
    let starts_well = scheme.starts_with(|first: char| first.is_ascii_lowercase());
    if !starts_well || !scheme.contains('.') || !scheme.split('.').all(label) {
        return Err(RedirectUriError::Scheme);
    }
    if rest.is_empty() {
        return Err(RedirectUriError::NotAbsolute);
    }
    match rest.strip_prefix("//") {
        Some(rest) if split_authority(rest).0.contains('@') => Err(RedirectUriError::UserInfo),
        Some(_) | None => Ok(()),
    }
}

/// For http on a loopback host: the host, and the text after the port.
fn split_loopback(text: &str) -> Option<(&str, &str)> {
    let (authority, tail) = split_authority(text.strip_prefix("http://")?);
    let (host, port) = split_port(authority);
    (LOOPBACK_HOSTS.contains(&host) && port.is_none_or(is_port)).then_some((host, tail))
}

fn split_authority(rest: &str) -> (&str, &str) {
    rest.split_at(rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len()))
}

fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        // The colons within brackets belong to the address.
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        Some(_) | None => (authority, None),
    }
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0') && text.parse::<u16>().is_ok()
}

impl TryFrom<String> for RedirectUri {
    type Error = RedirectUriError;
    fn try_from(text: String) -> Result<Self, RedirectUriError> {
        Self::register(&text)
    }
}
impl From<RedirectUri> for String {
    fn from(uri: RedirectUri) -> Self {
        uri.0
    }
}
impl fmt::Debug for RedirectUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl fmt::Display for RedirectUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
