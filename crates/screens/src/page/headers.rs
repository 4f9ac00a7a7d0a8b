//! The headers of a page (docs/decisions/0060).

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// The kind of page, which decides its policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Sign-in. A client may have opened it in a popup, which a stricter policy would cut off.
    Flow,
    /// The person's own pages: a window that opened them has no access to them.
    Account,
    /// The one of them that registers the service worker.
    Approvals,
    /// Posts itself to a client: `form-action` would have to include the client's further redirects.
    Posting,
}

const ALWAYS: &[(&str, &str)] = &[
    ("cache-control", "no-store"),
    ("cross-origin-resource-policy", "same-origin"),
    (
        "permissions-policy",
        "camera=(), geolocation=(), microphone=(), otp-credentials=(self), publickey-credentials-create=(self), \
         publickey-credentials-get=(self)",
    ),
    // Only to ourselves. With `no-referrer`, browsers would send `Origin: null` with our own forms.
    ("referrer-policy", "same-origin"),
    ("vary", "accept-language, cookie"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("x-permitted-cross-domain-policies", "none"),
];

pub(super) fn complete(headers: &mut HeaderMap, policy: Policy, nonce: &str, https: bool) {
    for (name, value) in ALWAYS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let (more, opener) = match policy {
        Policy::Flow => (" form-action 'self';", "unsafe-none"),
        Policy::Account => (" form-action 'self';", "same-origin"),
        Policy::Approvals => (" worker-src 'self'; form-action 'self';", "same-origin"),
        Policy::Posting => ("", "unsafe-none"),
    };
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static(opener));
    let content = format!(
        "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic'; style-src 'self'; img-src 'self' data:; \
         connect-src 'self';{more} base-uri 'none'; frame-ancestors 'none'"
    );
    if let Ok(content) = HeaderValue::from_str(&content) {
        headers.insert(header::CONTENT_SECURITY_POLICY, content);
    }
    if https {
        let always = HeaderValue::from_static("max-age=63072000; includeSubDomains");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, always);
    }
}
