//! The few pages that exist without the hosted screens: plain, and safe whatever they contain.

use std::fmt::Write;

use aws_lc_rs::digest;
use axum::{
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::STANDARD};

use super::headers::OWN_FORMS;

/// Submits the form; without script, the button does.
const SCRIPT: &str = "document.forms[0].submit()";

/// OAuth 2.0 Form Post Response Mode: a page that posts its form to the client.
///
/// The values are untrusted; the address was matched against the registered ones. The content security policy has no
/// `form-action`, because it would also apply to the client's own redirects.
pub fn form_post_page(action: &str, fields: &[(String, String)]) -> Response {
    let mut page =
        String::from("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Continue</title>");
    let _ = write!(page, "<form method=\"post\" action=\"{}\">", Escaped(action));
    for (name, value) in fields {
        let _ =
            write!(page, "<input type=\"hidden\" name=\"{}\" value=\"{}\">", Escaped(name), Escaped(value));
    }
    let _ =
        write!(page, "<noscript><button>Continue</button></noscript></form><script>{SCRIPT}</script></html>");
    let hash = STANDARD.encode(digest::digest(&digest::SHA256, SCRIPT.as_bytes()));
    let policy =
        format!("default-src 'none'; script-src 'sha256-{hash}'; base-uri 'none'; frame-ancestors 'none'");
    let mut response = page.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// One sentence and, if given, a button that posts one value to the page's own address.
pub fn plain_page(text: &str, button: Option<(&str, &str, &str)>) -> Response {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{0}</title><p>{0}</p>",
        Escaped(text)
    );
    if let Some((name, value, label)) = button {
        let _ = write!(
            page,
            "<form method=\"post\"><input type=\"hidden\" name=\"{}\" value=\"{}\"><button>{}</button></form>",
            Escaped(name),
            Escaped(value),
            Escaped(label)
        );
    }
    page.push_str("</html>");
    let mut response = page.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        ),
    );
    if button.is_some() {
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static(OWN_FORMS));
    }
    response
}

/// Browsers accept HTML; a program that wants JSON names it and does not name HTML.
pub fn prefers_json(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mentions = |wanted: &str| {
        let mut media = accept.split(',').map(|part| part.split(';').next().unwrap_or_default().trim());
        media.any(|one| one.eq_ignore_ascii_case(wanted))
    };
    mentions("application/json") && !mentions("text/html")
}

struct Escaped<'a>(&'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cve_2026_42849_hostile_state_stays_text() {
        assert_eq!(
            Escaped("\"><script>alert('x')</script>&").to_string(),
            "&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;"
        );
    }
}
