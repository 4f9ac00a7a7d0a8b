//! For how long an answer says that it may be kept (RFC 9111 §4.2.1).

use http::{HeaderMap, header};
use time::{OffsetDateTime, format_description::well_known::Rfc2822};

/// Seconds from now on; none where the answer says nothing. What cannot be read is not kept.
pub(super) fn lifetime(headers: &HeaderMap) -> Option<u64> {
    let said: Vec<String> = texts(headers, header::CACHE_CONTROL)
        .flat_map(|text| text.split(','))
        .map(|directive| directive.trim().to_ascii_lowercase())
        .collect();
    if said.iter().any(|directive| matches!(directive.as_str(), "no-store" | "no-cache")) {
        return Some(0);
    }
    let value =
        |name: &str| said.iter().find_map(|directive| directive.strip_prefix(name)?.strip_prefix('='));
    // A server that answers many people is a shared cache (§5.2.2.10).
    let seconds = match value("s-maxage").or_else(|| value("max-age")) {
        Some(seconds) => seconds.trim_matches('"').parse().unwrap_or(0),
        None => expires(headers)?,
    };
    let age = texts(headers, header::AGE).next().and_then(|age| age.trim().parse().ok()).unwrap_or(0);
    Some(u64::saturating_sub(seconds, age))
}

/// By the clock of the server that answers: its `Date`.
fn expires(headers: &HeaderMap) -> Option<u64> {
    let moment = |name| texts(headers, name).next().map(|text| OffsetDateTime::parse(text, &Rfc2822));
    let end = moment(header::EXPIRES)?;
    let (Ok(end), Some(Ok(now))) = (end, moment(header::DATE)) else { return Some(0) };
    Some(u64::try_from((end - now).whole_seconds()).unwrap_or(0))
}

fn texts(headers: &HeaderMap, name: header::HeaderName) -> impl Iterator<Item = &str> {
    headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn of(said: &[(&'static str, &'static str)]) -> Option<u64> {
        let header = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let mut headers = HeaderMap::new();
        for (name, value) in said.iter().map(header) {
            headers.append(name, value);
        }
        lifetime(&headers)
    }

    #[test]
    fn an_answer_is_kept_as_long_as_it_says() {
        const DATE: (&str, &str) = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        const LATER: (&str, &str) = ("expires", "Sun, 06 Nov 1994 09:49:37 GMT");
        for (said, seconds) in [
            (&[][..], None),
            (&[("cache-control", "public")], None),
            (&[("cache-control", "max-age=600")], Some(600)),
            (&[("cache-control", "public, Max-Age=\"600\"")], Some(600)),
            (&[("cache-control", "max-age=600, s-maxage=60")], Some(60)),
            (&[("cache-control", "public"), ("cache-control", "max-age=60")], Some(60)),
            (&[("cache-control", "max-age=600"), ("age", "500")], Some(100)),
            (&[("cache-control", "max-age=600"), ("age", "700")], Some(0)),
            (&[("cache-control", "max-age=600, no-store")], Some(0)),
            (&[("cache-control", "no-cache")], Some(0)),
            (&[("cache-control", "max-age=soon")], Some(0)),
            (&[("cache-control", "max-age=-1")], Some(0)),
            (&[DATE, LATER], Some(3_600)),
            (&[DATE, LATER, ("cache-control", "max-age=60")], Some(60)),
            (&[LATER], Some(0)),
            (&[DATE, ("expires", "0")], Some(0)),
            (&[("date", "Sun, 06 Nov 1994 09:49:38 GMT"), LATER], Some(0)),
        ] {
            assert_eq!(of(said), seconds, "{said:?}");
        }
    }
}
