//! The URL of a protected resource (RFC 9728 §1.2, RFC 8707 §2), and when two name the same one.

use url::{Host, Url};

pub const MAX_RESOURCE_URL: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be a normalized https URL (or http on loopback) of at most {MAX_RESOURCE_URL} bytes, without user name, query and fragment"
)]
pub struct ResourceUrlError;

/// Whether metadata can be published for this URL.
///
/// # Errors
/// When it is not one that a client could have called.
pub fn check_resource_url(text: &str) -> Result<(), ResourceUrlError> {
    let url = Url::parse(text).map_err(|_| ResourceUrlError)?;
    let loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    };
    let scheme = url.scheme() == "https" || (url.scheme() == "http" && loopback);
    let bare = url.username().is_empty() && url.password().is_none();
    // What a parser would repair, a client may send in another spelling.
    let normalized = url.as_str() == text || url.as_str().strip_suffix('/') == Some(text) && is_origin(text);
    let whole = !text.contains(['?', '#', '@']) && text.len() <= MAX_RESOURCE_URL;
    if scheme && bare && normalized && whole { Ok(()) } else { Err(ResourceUrlError) }
}

/// Whether two texts name the same resource: byte by byte, but for the final slash of an origin, which many libraries
/// add (RFC 3986 §6.2.3).
#[must_use]
pub fn is_same_resource(one: &str, other: &str) -> bool {
    without_slash(one) == without_slash(other)
}

/// Host and path, as part of the path of a well-known document.
#[must_use]
pub fn resource_path(url: &str) -> &str {
    without_slash(url).split_once("://").map_or(url, |(_, rest)| rest)
}

fn without_slash(text: &str) -> &str {
    text.strip_suffix('/').filter(|rest| is_origin(rest)).unwrap_or(text)
}

/// Scheme and authority alone.
fn is_origin(text: &str) -> bool {
    text.split_once("://").is_some_and(|(_, rest)| !rest.is_empty() && !rest.contains(['/', '?', '#']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slash_of_an_origin_makes_no_difference_and_any_other_does() {
        let origin = "https://api.example";
        assert!(is_same_resource(origin, "https://api.example/") && is_same_resource(origin, origin));
        for other in [
            "https://api.example//",
            "https://api.example/a",
            "http://api.example",
            "https://api.example:443",
        ] {
            assert!(!is_same_resource(origin, other), "{other}");
        }
        assert!(!is_same_resource("https://api.example/mcp", "https://api.example/mcp/"));
        assert!(!is_same_resource("urn:api", "urn:api/") && !is_same_resource("", "/"));
    }

    #[test]
    fn only_what_a_client_could_call_has_metadata() {
        for (good, path) in [
            ("https://api.example", "api.example"),
            ("https://api.example/", "api.example"),
            ("https://api.example:8443/mcp", "api.example:8443/mcp"),
            ("https://api.example/a/b/", "api.example/a/b/"),
            ("http://localhost:3000/mcp", "localhost:3000/mcp"),
            ("http://127.0.0.1:3000", "127.0.0.1:3000"),
        ] {
            assert_eq!((check_resource_url(good), resource_path(good)), (Ok(()), path), "{good}");
        }
        let long = format!("https://api.example/{}", "a".repeat(MAX_RESOURCE_URL));
        for bad in [
            "",
            "urn:api",
            "http://api.example/mcp",
            "https://api.example/mcp?x=1",
            "https://api.example/mcp#top",
            "https://ana@api.example/mcp",
            "https://API.example/mcp",
            "https://api.example:443/mcp",
            "https://api.example/a/../mcp",
            "https://api.example/a b",
            &long,
        ] {
            assert_eq!(check_resource_url(bad), Err(ResourceUrlError), "{bad}");
        }
    }
}
