//! The context of a request: everything a handler may know of it besides its body.

use std::{convert::Infallible, net::IpAddr, sync::Arc};

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderValue, header, request::Parts},
};
use porteiro_protocol::id::RequestId;

use super::{ClientAddress, RequestInfo, address::ClientCertificate};

#[derive(Clone)]
pub struct RequestContext {
    pub request_id: RequestId,
    pub address: IpAddr,
    /// Truncated, without control characters.
    pub user_agent: String,
    pub origin: Option<String>,
    pub fetch_site: Option<String>,
    pub accept_language: String,
    /// `locale` in the query: the language of the response's texts.
    pub locale: Option<String>,
    pub bind: Option<String>,
    pub session: Option<String>,
    /// The token of a session that only a directory vouches for. It is apart, so that neither replaces the other.
    pub directory: Option<String>,
    pub device: Option<String>,
    /// The connection by which somebody signed in to an organization last, in this browser. Nothing rests on it.
    pub door: Option<String>,
    /// Scheme and credentials of `Authorization`.
    pub authorization: Option<(String, String)>,
    /// Every `DPoP` header (RFC 9449 §4.1).
    pub dpop: Vec<String>,
    pub has_cookies: bool,
    /// The client certificate in DER, from the handshake or from a trusted proxy (RFC 8705).
    pub certificate: Option<Arc<Vec<u8>>>,
    /// Whose address and device these are, where a person administers; the guard says so.
    pub acting: Option<Acting>,
}

/// The account of a person who administers an organization or the installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acting(pub uuid::Uuid);

/// Contains cookies and tokens, so it is not printed.
impl std::fmt::Debug for RequestContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<request {}>", self.request_id)
    }
}

impl RequestContext {
    /// That of a job: no browser sent it. `request`: the one that caused the job, or an id of its own.
    pub const fn of_job(request: RequestId) -> Self {
        Self {
            request_id: request,
            address: IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
            user_agent: String::new(),
            origin: None,
            fetch_site: None,
            accept_language: String::new(),
            locale: None,
            bind: None,
            session: None,
            directory: None,
            device: None,
            door: None,
            authorization: None,
            dpop: Vec::new(),
            has_cookies: false,
            certificate: None,
            acting: None,
        }
    }
}

pub const BIND_COOKIE: &str = "__Host-bind";
pub const SESSION_COOKIE: &str = "__Host-session";
pub const DIRECTORY_COOKIE: &str = "__Host-directory";
pub const DEVICE_COOKIE: &str = "__Host-device";
pub const DOOR_COOKIE: &str = "__Host-door";

impl<S: Sync> FromRequestParts<S> for RequestContext {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let text = |name: header::HeaderName| {
            parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        let user_agent: String = text(header::USER_AGENT)
            .unwrap_or_default()
            .chars()
            .filter(|c| !c.is_control())
            .take(200)
            .collect();
        let authorization = text(header::AUTHORIZATION).and_then(|value| {
            value.split_once(' ').map(|(scheme, rest)| (scheme.to_ascii_lowercase(), rest.to_owned()))
        });
        Ok(Self {
            request_id: parts
                .extensions
                .get::<RequestInfo>()
                .map_or(uuid::Uuid::nil().into(), |info| info.id),
            address: parts
                .extensions
                .get::<ClientAddress>()
                .map_or(IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), |address| address.0),
            user_agent,
            origin: text(header::ORIGIN),
            fetch_site: parts
                .headers
                .get("sec-fetch-site")
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned),
            accept_language: text(header::ACCEPT_LANGUAGE).unwrap_or_default(),
            locale: parts.uri.query().and_then(|query| {
                let mut pairs = url::form_urlencoded::parse(query.as_bytes());
                pairs.find(|(name, _)| name == "locale").map(|(_, value)| value.into_owned())
            }),
            bind: cookie(&parts.headers, BIND_COOKIE),
            session: cookie(&parts.headers, SESSION_COOKIE),
            directory: cookie(&parts.headers, DIRECTORY_COOKIE),
            device: cookie(&parts.headers, DEVICE_COOKIE),
            door: cookie(&parts.headers, DOOR_COOKIE),
            authorization,
            dpop: parts
                .headers
                .get_all("dpop")
                .iter()
                .map(|value| value.to_str().unwrap_or_default().to_owned())
                .collect(),
            has_cookies: parts.headers.contains_key(header::COOKIE),
            certificate: parts.extensions.get::<ClientCertificate>().map(|found| Arc::clone(&found.0)),
            acting: parts.extensions.get::<Acting>().copied(),
        })
    }
}

/// A cookie that was sent twice is ignored: one of them may be an attempt to shadow ours.
fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let mut found = headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(known, _)| *known == name)
        .map(|(_, value)| value.to_owned());
    match (found.next(), found.next()) {
        (Some(value), None) => Some(value),
        (_, _) => None,
    }
}

/// Removes the session cookies and the flow binding at sign-out, so that the next person at this browser cannot continue a
/// session or an open flow. The device cookie stays: it identifies no person.
pub fn forget_person(headers: &mut HeaderMap) {
    forget_cookies(headers, &[SESSION_COOKIE, DIRECTORY_COOKIE, BIND_COOKIE]);
}

pub fn forget_cookies(headers: &mut HeaderMap, names: &[&str]) {
    for name in names {
        if let Ok(gone) = HeaderValue::from_str(&set_cookie(name, "", 0)) {
            headers.append(header::SET_COOKIE, gone);
        }
    }
}

/// A cookie for this host only, over TLS, and not readable by scripts.
pub fn set_cookie(name: &str, value: &str, seconds: u32) -> String {
    format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; Secure; SameSite=Lax")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shadowed_cookie_counts_for_nothing() {
        let headers = |lines: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::COOKIE, line.parse().unwrap());
            }
            headers
        };
        assert_eq!(cookie(&headers(&["a=1; __Host-bind=x; b=2"]), BIND_COOKIE).as_deref(), Some("x"));
        assert_eq!(cookie(&headers(&["__Host-bind=x; __Host-bind=y"]), BIND_COOKIE), None);
        assert_eq!(cookie(&headers(&["__Host-bind=x", "__Host-bind=y"]), BIND_COOKIE), None);
        assert_eq!(cookie(&headers(&["__host-bind=x"]), BIND_COOKIE), None);
    }
}
