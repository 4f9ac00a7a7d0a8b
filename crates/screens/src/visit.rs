//! One request of a browser: in which language it is answered, and on whose behalf calls are made.

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
    /// The person has just chosen it.
    chose: bool,
    /// They chose it here or on a page before.
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

    /// The same for somebody known: their account's language comes before that of a browser, which may be anybody's, and
    /// after what they chose on a page.
    #[must_use]
    pub fn for_person(&self, locale: Option<&str>) -> Self {
        match locale.and_then(Language::parse) {
            Some(language) if !self.settled && language != self.language => {
                Self { language, caller: self.caller.clone().speaking(language.service()), ..self.clone() }
            }
            Some(_) | None => self.clone(),
        }
    }

    /// The same for whoever is signed in here.
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
