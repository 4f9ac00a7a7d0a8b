//! A link in a mail leads to the configured base address, whatever the request's `Host` said (GHSA-2wmj-46rj-qm2w).

use url::Url;

/// May contain a token, so it is not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Link(String);

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<link>")
    }
}

impl Link {
    /// A path, with query and fragment, under the base address. `None` if it would lead elsewhere.
    pub fn under(base_url: &str, path: &str) -> Option<Self> {
        let base = Url::parse(base_url).ok()?;
        let plain = path.starts_with('/') && path.chars().all(|c| c.is_ascii_graphic() && c != '\\');
        let url = base.join(path).ok().filter(|url| plain && url.origin() == base.origin())?;
        matches!(url.scheme(), "https" | "http").then(|| Self(url.into()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_under_the_base_address() {
        let base = "https://id.example.org";
        let link = Link::under(base, "/ui/link?t=abc&u=<x>").unwrap();
        assert_eq!(link.as_str(), "https://id.example.org/ui/link?t=abc&u=%3Cx%3E");
        assert_eq!(format!("{link:?}"), "<link>");
        assert_eq!(Link::under(base, "/ui/link#f.t").unwrap().as_str(), "https://id.example.org/ui/link#f.t");
        for path in [
            "",
            "ui",
            "//evil.example/",
            "/\\evil.example",
            "https://evil.example/",
            "/a b",
            "/a\r\nb",
            "javascript:x",
        ] {
            assert_eq!(Link::under(base, path), None, "{path}");
        }
        assert_eq!(Link::under("javascript:alert(1)", "/x"), None);
    }
}
