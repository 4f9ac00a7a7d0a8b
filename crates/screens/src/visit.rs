//! One request of a browser: its language, and the caller for requests to the service.

use axum::{
    http::{HeaderValue, header, request::Parts},
    response::Response,
};

use crate::{Screens, call::Caller, form::Form, language::Language, page::Shell};

#[derive(Debug, Clone)]
pub struct Visit {
    pub language: Language,
    pub caller: Caller,
    pub query: Form,
    pub path: String,
    /// The person has just chosen the language.
    chose: bool,
    /// The person chose the language here or earlier.
    settled: bool,
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
            settled: chosen.or_else(|| Language::chosen(&parts.headers)).is_some(),
        }
    }

    /// Uses the account's language: it has priority over the browser's, which may be another person's, but not over a
    /// choice on a page.
    #[must_use]
    pub fn for_person(&self, locale: Option<&str>) -> Self {
        match locale.and_then(Language::parse) {
            Some(language) if !self.settled && language != self.language => {
                Self { language, caller: self.caller.clone().speaking(language.service()), ..self.clone() }
            }
            Some(_) | None => self.clone(),
        }
    }

    /// The same for the signed-in person.
    pub async fn for_session(self, screens: &Screens) -> Self {
        if self.settled || !self.caller.has_session() {
            return self;
        }
        let account = self.caller.get(&screens.service, "/v1/account").await;
        self.for_person(account.body["locale"].as_str())
    }

    pub fn shell(&self, screens: &Screens) -> Shell {
        Shell::new(screens, self.language, &self.path)
    }

    /// Stores the language if it was chosen here.
    pub fn done(&self, mut response: Response) -> Response {
        if self.chose
            && let Ok(cookie) = HeaderValue::from_str(&self.language.cookie())
        {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
        response
    }
}
