//! What has nothing to do with signing in: pages, and sessions behind a cookie.

use std::{collections::HashMap, error::Error};

use openidconnect::{CsrfToken, url::Url};
use tiny_http::{Header, Request, Response, Server};

use crate::Session;

pub struct Answer {
    pub status: u16,
    pub location: Option<String>,
    pub body: String,
}

pub fn page(body: &str) -> Answer {
    Answer { status: 200, location: None, body: format!("<!doctype html><title>App</title>{body}") }
}

pub fn redirect(to: &str) -> Answer {
    Answer { status: 303, location: Some(to.to_owned()), body: String::new() }
}

pub fn text(value: &str) -> String {
    value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn cookie(request: &Request) -> Option<String> {
    let sent = request.headers().iter().find(|header| header.field.equiv("cookie"))?;
    let mut parts = sent.value.as_str().split("; ");
    parts.find_map(|part| part.strip_prefix("app=")).map(str::to_owned)
}

pub fn serve(
    address: &Url,
    answer: impl Fn(&Url, &mut Session) -> Result<Answer, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let port = address.port().ok_or("APP_URL has no port")?;
    let server = Server::http(("127.0.0.1", port)).map_err(|error| error.to_string())?;
    let mut sessions: HashMap<String, Session> = HashMap::new();
    for request in server.incoming_requests() {
        let known = cookie(&request).filter(|id| sessions.contains_key(id));
        let mut session = known.as_ref().and_then(|id| sessions.remove(id)).unwrap_or_default();
        let asked = address.join(request.url())?;
        let said = answer(&asked, &mut session).unwrap_or_else(|error| {
            eprintln!("{}: {error:?}", asked.path());
            Answer { status: 500, location: None, body: "Something went wrong".into() }
        });
        // A new name for who signed in: what was known before opens nothing afterwards. Else the old one stays, or the
        // answer to a picture the browser asked for meanwhile would take it away.
        let known = known.filter(|_| asked.path() != "/callback");
        let id = known.clone().unwrap_or_else(|| CsrfToken::new_random().secret().clone());
        let header = |name: &str, value: &str| Header::from_bytes(name, value).map_err(|()| "not a header");
        let mut response = Response::from_string(said.body)
            .with_status_code(said.status)
            .with_header(header("content-type", "text/html; charset=utf-8")?);
        if known.is_none() {
            let kept = format!("app={id}; Path=/; HttpOnly; SameSite=Lax");
            response.add_header(header("set-cookie", &kept)?);
        }
        if let Some(to) = said.location {
            response.add_header(header("location", &to)?);
        }
        sessions.insert(id, session);
        request.respond(response)?;
    }
    Ok(())
}
