//! The security headers of every response.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// For responses that are not pages. A page has a policy of its own, which must include `frame-ancestors`.
const CONTENT_POLICY: &str =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Always set, even if the handler set another value.
const ALWAYS: &[(&str, &str)] = &[
    ("x-frame-options", "DENY"),
    ("x-content-type-options", "nosniff"),
    ("x-permitted-cross-domain-policies", "none"),
];

/// Set unless the handler set a value.
const UNLESS_SET: &[(&str, &str)] = &[
    ("content-security-policy", CONTENT_POLICY),
    ("cache-control", "no-store"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
];

/// No other site receives a referrer. A page with one of our forms sends it to ourselves, because browsers would
/// otherwise send `Origin: null`; no other value of a handler is kept.
fn referrer(headers: &HeaderMap) -> HeaderValue {
    let own = HeaderValue::from_static(OWN_FORMS);
    let set = headers.get(header::REFERRER_POLICY);
    if set == Some(&own) { own } else { HeaderValue::from_static("no-referrer") }
}

/// For pages with our own forms.
pub(super) const OWN_FORMS: &str = "same-origin";

pub(super) fn complete(headers: &mut HeaderMap, https: bool) {
    for (name, value) in ALWAYS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let referrer = referrer(headers);
    headers.insert(header::REFERRER_POLICY, referrer);
    for (name, value) in UNLESS_SET {
        headers.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
    }
    if https {
        headers.insert(
            header::STRICT_TRANSPORT_SECURITY,
            HeaderValue::from_static("max-age=63072000; includeSubDomains"),
        );
    }
}
