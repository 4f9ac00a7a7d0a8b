//! One request of a browser: in which language it is answered, and on whose behalf calls are made.

use axum::{
    http::{HeaderValue, header, request::Parts},
    response::Response,
};

use crate::{Screens, call::Caller, form::Form, language::Language, page::Shell};

#[derive(Debug)]
pub struct Visit {
    pub language: Language,
    pub caller: Caller,
    pub query: Form,
    pub path: String,
    /// The person has just chosen it.
    chose: bool,
}

impl Visit {
    pub fn new(parts: &Parts) -> Self {
        let query = Form::parse(parts.uri.query().unwrap_or_default().as_bytes());
        let chosen = query.get("lang").and_then(Language::named);
        let language = chosen.unwrap_or_else(|| Language::of(&parts.headers));
        Self {
            language,
            caller: Caller::new(parts, language.service()),
            query,
            path: parts.uri.path().to_owned(),
            chose: chosen.is_some(),
        }
    }

    pub fn shell(&self, screens: &Screens) -> Shell {
        Shell::new(screens, self.language, &self.path)
    }

    /// Remembers the language where it was chosen here.
    pub fn done(&self, mut response: Response) -> Response {
        if self.chose
            && let Ok(cookie) = HeaderValue::from_str(&self.language.cookie())
        {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
        response
    }
}
