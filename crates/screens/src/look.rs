//! The colours of an organization or a client, as a stylesheet with the colours in its path:
//! `/ui/look/7a1f5c-e9a6cf.css`. The content security policy allows no inline rules, and this needs no state.

use std::sync::Arc;

use axum::{
    extract::{Path, Request, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use porteiro_service::settings::colour;

use crate::{Screens, doors, flow::Branding};

const NONE: &str = "none";

/// The path of the stylesheet; `None` if no colour differs from the service's own.
pub fn path(branding: &Branding) -> Option<String> {
    let digits = |colour: &Option<String>| {
        let digits = colour.as_deref().and_then(|colour| colour.strip_prefix('#'));
        digits.unwrap_or(NONE).to_owned()
    };
    let (light, dark) = (digits(&branding.color), digits(&branding.color_dark));
    (light != NONE || dark != NONE).then(|| format!("/ui/look/{light}-{dark}.css"))
}

/// The rules for readable colours. They change only the request's part of the page: the service's own mark stays as it
/// is.
fn rules(name: &str) -> Option<String> {
    let (light, dark) = name.strip_suffix(".css")?.split_once('-')?;
    let rule = |scheme: &str, digits: &str, is_dark: bool| {
        if digits == NONE {
            return Some(String::new());
        }
        let colour = format!("#{digits}");
        colour::refusal(&colour, is_dark)
            .is_none()
            .then(|| format!("@media (prefers-color-scheme:{scheme}){{main{{--accent:{colour}}}}}"))
    };
    Some(rule("light", light, false)? + &rule("dark", dark, true)?)
}

pub async fn serve(
    State(screens): State<Arc<Screens>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let Some(rules) = rules(&name) else {
        return doors::pass(State(screens), request).await;
    };
    let mut response = rules.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/css; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_two_colours_that_can_be_read_and_nothing_else() {
        assert_eq!(
            rules("7a1f5c-none.css").as_deref(),
            Some("@media (prefers-color-scheme:light){main{--accent:#7a1f5c}}")
        );
        assert!(rules("7a1f5c-e9a6cf.css").is_some_and(|rules| rules.ends_with("main{--accent:#e9a6cf}}")));
        for wrong in
            ["e9a6cf-none.css", "7a1f5c.css", "red-none.css", "}body{}-none.css", "7a1f5c-7a1f5c.css", ""]
        {
            assert_eq!(rules(wrong), None, "{wrong}");
        }
    }
}
