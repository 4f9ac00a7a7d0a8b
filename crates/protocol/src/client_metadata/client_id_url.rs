//! A URL as a client id (draft-ietf-oauth-client-id-metadata-document §3).

use std::fmt;

use url::Url;

use crate::redirect_uri::{RedirectUri, is_uri_text};

/// It is part of keys in the database, and people may be shown it.
pub const MAX_CLIENT_ID_URL: usize = 512;
const SCHEME: &str = "https://";
/// What a URL parser leaves out, although the id with it is another one.
const DEFAULT_PORT: &str = ":443";

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClientIdUrlError {
    #[error("a client_id that is a URL must have at most {MAX_CLIENT_ID_URL} bytes")]
    Length,
    #[error("a client_id that is a URL must have the https scheme")]
    Scheme,
    #[error("a client_id that is a URL must not have a user name or password")]
    UserInfo,
    #[error("a client_id that is a URL must have a path")]
    Path,
    #[error("a client_id that is a URL must not have a query or a fragment")]
    Query,
    #[error("a client_id that is a URL must be in normalized form, without dot segments")]
    NotNormalized,
}

/// A client id that is the URL of the client's metadata document. Two are the same only if their bytes are.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientIdUrl {
    text: String,
    url: Url,
}

impl ClientIdUrl {
    /// Whether a client id claims to be a URL. No id that this server makes begins like one.
    #[must_use]
    pub fn is_claimed_by(client_id: &str) -> bool {
        client_id.starts_with(SCHEME)
    }

    /// # Errors
    /// Which rule of the draft's §3 is broken. A query, which the draft only advises against, is refused too: an address
    /// that repeats its query would be a document that anybody can write.
    pub fn parse(text: &str) -> Result<Self, ClientIdUrlError> {
        if text.len() > MAX_CLIENT_ID_URL {
            return Err(ClientIdUrlError::Length);
        }
        let rest = text.strip_prefix(SCHEME).ok_or(ClientIdUrlError::Scheme)?;
        if rest.contains(['?', '#']) {
            return Err(ClientIdUrlError::Query);
        }
        let (authority, path) = rest.split_once('/').ok_or(ClientIdUrlError::Path)?;
        if authority.contains('@') {
            return Err(ClientIdUrlError::UserInfo);
        }
        if !is_uri_text(text.as_bytes()) {
            return Err(ClientIdUrlError::NotNormalized);
        }
        let url = Url::parse(text).map_err(|_| ClientIdUrlError::NotNormalized)?;
        let authority = authority.strip_suffix(DEFAULT_PORT).unwrap_or(authority);
        // What a parser would repair, another one might repair differently.
        if url.as_str() != format!("{SCHEME}{authority}/{path}") {
            return Err(ClientIdUrlError::NotNormalized);
        }
        Ok(Self { text: text.to_owned(), url })
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What a person is shown of it.
    #[must_use]
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Whether an answer to this address reaches who publishes the document, or the person's own machine.
    #[must_use]
    pub fn may_redirect_to(&self, uri: &RedirectUri) -> bool {
        uri.is_loopback() || Url::parse(uri.as_str()).is_ok_and(|uri| uri.origin() == self.url.origin())
    }
}

impl fmt::Debug for ClientIdUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_the_drafts_form_is_an_id_and_every_spelling_another() {
        for good in [
            "https://app.example/client.json",
            "https://app.example/",
            "https://app.example:8443/oauth/client",
            "https://app.example:443/client.json",
            "https://app.example/a//b",
            "https://app.example/%7Eana/client.json",
            "https://xn--bcher-kva.example/client",
        ] {
            assert_eq!(ClientIdUrl::parse(good).unwrap().as_str(), good);
        }
        let (one, other) = ("https://app.example/client.json", "https://app.example:443/client.json");
        assert_ne!(ClientIdUrl::parse(one), ClientIdUrl::parse(other));
    }

    #[test]
    fn what_parsers_read_differently_is_no_id() {
        use ClientIdUrlError::{Length, NotNormalized, Path, Query, Scheme, UserInfo};
        let long = format!("https://app.example/{}", "a".repeat(MAX_CLIENT_ID_URL));
        for (bad, error) in [
            ("http://app.example/client", Scheme),
            ("HTTPS://app.example/client", Scheme),
            ("app.example/client", Scheme),
            ("https://app.example", Path),
            ("https://", Path),
            ("https:///client", NotNormalized),
            ("https://user@app.example/client", UserInfo),
            ("https://user:pw@app.example/client", UserInfo),
            ("https://@app.example/client", UserInfo),
            ("https://app.example/client?x=1", Query),
            ("https://app.example/client?", Query),
            ("https://app.example/client#top", Query),
            ("https://app.example/client#", Query),
            ("https://app.example/./client", NotNormalized),
            ("https://app.example/a/../client", NotNormalized),
            ("https://app.example/a/..", NotNormalized),
            ("https://app.example/a/%2e%2E/client", NotNormalized),
            ("https://app.example/.%2e/client", NotNormalized),
            ("https://APP.example/client", NotNormalized),
            ("https://app.example:0443/client", NotNormalized),
            ("https://app.example:/client", NotNormalized),
            ("https://app.example:99999/client", NotNormalized),
            ("https://app.example\\client/x", NotNormalized),
            ("https://app.example/cli ent", NotNormalized),
            ("https://bücher.example/client", NotNormalized),
            ("https://127.1/client", NotNormalized),
            ("https://0x7f.0.0.1/client", NotNormalized),
            ("https://app.example/%zz", NotNormalized),
            (&long, Length),
        ] {
            assert_eq!(ClientIdUrl::parse(bad).map(|url| url.text), Err(error), "{bad}");
        }
    }

    #[test]
    fn answers_stay_with_the_publisher_or_on_the_persons_machine() {
        let url = ClientIdUrl::parse("https://app.example/client.json").unwrap();
        let may = |text: &str| url.may_redirect_to(&RedirectUri::register(text).unwrap());
        for good in [
            "https://app.example/callback",
            "https://app.example:443/callback",
            "http://localhost/callback",
            "http://127.0.0.1:33418/",
            "http://[::1]/callback",
        ] {
            assert!(may(good), "{good}");
        }
        for bad in [
            "https://evil.example/callback",
            "https://app.example.evil.example/callback",
            "https://app.example:8443/callback",
            "https://www.app.example/callback",
            "com.example.app:/callback",
        ] {
            assert!(!may(bad), "{bad}");
        }
    }
}
