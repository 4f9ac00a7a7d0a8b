//! A person's browser: keeps cookies, sends the origin, and runs flows.

use std::{collections::BTreeMap, sync::Arc};

use axum::body::Body;
use http::{Method, Request, header};
use serde_json::{Value, json};

use super::{Answer, TestApp, Transcript};

pub const ORIGIN: &str = "https://id.example.test";

#[derive(Debug)]
pub struct Browser {
    app: Arc<TestApp>,
    pub cookies: BTreeMap<String, String>,
    pub user_agent: String,
    /// Further headers of every request, such as a forged address.
    pub headers: Vec<(&'static str, String)>,
    /// Records its calls, if set.
    pub transcript: Option<Transcript>,
}

impl Browser {
    pub fn new(app: &Arc<TestApp>) -> Self {
        Self {
            app: Arc::clone(app),
            cookies: BTreeMap::new(),
            user_agent: "Test/1.0".into(),
            headers: Vec::new(),
            transcript: None,
        }
    }

    pub async fn call(&mut self, method: Method, path: &str, body: Option<&Value>) -> Answer {
        let mut request = Request::builder()
            .method(method.clone())
            .uri(path)
            .header(header::ORIGIN, self.app.app.issuer())
            .header(header::USER_AGENT, &self.user_agent);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        if !self.cookies.is_empty() {
            let line: Vec<String> =
                self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            request = request.header(header::COOKIE, line.join("; "));
        }
        let request = match body {
            Some(body) => {
                request.header(header::CONTENT_TYPE, "application/json").body(Body::from(body.to_string()))
            }
            None => request.body(Body::empty()),
        };
        let request = request.expect("a request");
        let headers = request.headers().clone();
        let answer = self.app.send(request).await;
        if let Some(transcript) = &self.transcript {
            transcript.record(method.as_str(), path, &headers, body, &answer);
        }
        for line in answer.headers.get_all(header::SET_COOKIE) {
            let text = line.to_str().expect("a cookie");
            let (pair, attributes) = text.split_once(';').unwrap_or((text, ""));
            let (name, value) = pair.split_once('=').expect("a cookie's value");
            assert!(attributes.contains("HttpOnly") && attributes.contains("Secure"), "{attributes}");
            if value.is_empty() {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    pub async fn get(&mut self, path: &str) -> Answer {
        self.call(Method::GET, path, None).await
    }

    pub async fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.call(Method::POST, path, Some(body)).await
    }

    pub async fn delete(&mut self, path: &str) -> Answer {
        self.call(Method::DELETE, path, None).await
    }

    pub async fn open(&mut self, request: Value) -> Flow {
        let answer = self.post("/v1/flows", &request).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        Flow::new(answer.json())
    }

    pub fn session(&self) -> Option<&String> {
        self.cookies.get("__Host-session")
    }

    /// The session that only a directory vouches for.
    pub fn confined_session(&self) -> Option<&String> {
        self.cookies.get("__Host-directory")
    }
}

/// A flow, as its owner sees it.
#[derive(Debug, Clone)]
pub struct Flow {
    pub now: Value,
}

impl Flow {
    pub const fn new(now: Value) -> Self {
        Self { now }
    }

    pub fn id(&self) -> &str {
        self.now["id"].as_str().expect("the flow's id")
    }

    pub fn stage(&self) -> &str {
        self.now["stage"].as_str().expect("the flow's stage")
    }

    pub fn offers(&self) -> Vec<&str> {
        let actions = self.now["actions"].as_array().expect("actions");
        actions.iter().filter_map(|action| action["name"].as_str()).collect()
    }

    /// One step, whatever its result.
    pub async fn attempt(&mut self, browser: &mut Browser, action: &str, mut input: Value) -> Answer {
        if input.get("step").is_none() {
            input["step"] = self.now["step"].clone();
        }
        let answer = browser.post(&format!("/v1/flows/{}/{action}", self.id()), &input).await;
        let body = answer.json();
        if answer.status == 200 {
            self.now = body;
        } else if body["flow"].is_object() {
            self.now = body["flow"].clone();
        }
        answer
    }

    /// One step that must succeed.
    pub async fn act(&mut self, browser: &mut Browser, action: &str, input: Value) -> &Value {
        let answer = self.attempt(browser, action, input).await;
        assert_eq!(answer.status, 200, "{action}: {}", answer.text());
        &self.now
    }

    pub async fn show(&mut self, browser: &mut Browser) -> Answer {
        let answer = browser.get(&format!("/v1/flows/{}", self.id())).await;
        if answer.status == 200 {
            self.now = answer.json();
        }
        answer
    }
}

impl TestApp {
    /// All mails to an address in the outbox, newest first.
    pub async fn mails(&self, to: &str) -> Vec<porteiro_service::mail::Mail> {
        let rows = self
            .database
            .client()
            .await
            .query("SELECT payload FROM job WHERE kind = 'mail.send' ORDER BY run_at DESC, job_id DESC", &[])
            .await
            .expect("the outbox");
        rows.iter()
            .filter_map(|row| self.app.secrets.open_letter(porteiro_service::mail::JOB, &row.get(0)))
            .filter(|mail: &porteiro_service::mail::Mail| mail.to.eq_ignore_ascii_case(to))
            .collect()
    }

    /// The newest mail to an address, from the outbox: subject and text.
    pub async fn mail(&self, to: &str) -> (String, String) {
        let mail = self.mails(to).await.into_iter().next().unwrap_or_else(|| panic!("no mail to {to}"));
        (mail.subject, mail.text)
    }

    /// The code in the newest mail to an address.
    pub async fn mailed_code(&self, to: &str) -> String {
        let (subject, _) = self.mail(to).await;
        let code: String = subject.chars().take_while(char::is_ascii_digit).collect();
        assert_eq!(code.len(), 6, "no code in «{subject}»");
        code
    }

    /// The code in the newest text message to a number.
    pub async fn texted_code(&self, to: &str) -> String {
        let rows = self
            .database
            .client()
            .await
            .query("SELECT payload FROM job WHERE kind = 'sms.send' ORDER BY run_at DESC, job_id DESC", &[])
            .await
            .expect("the outbox");
        let sms: porteiro_service::sms::Sms = rows
            .iter()
            .filter_map(|row| self.app.secrets.open_letter(porteiro_service::sms::JOB, &row.get(0)))
            .find(|sms: &porteiro_service::sms::Sms| sms.to == to)
            .expect("a text message");
        let words = sms.text.split(|c: char| !c.is_ascii_digit());
        let code = words.into_iter().find(|word| word.len() == 6);
        code.unwrap_or_else(|| panic!("no code in the message")).to_owned()
    }

    /// Removes all limits.
    pub async fn forget_limits(&self) {
        self.database.client().await.batch_execute("DELETE FROM limit_bucket").await.expect("limits");
    }

    pub async fn count(&self, sql: &str) -> i64 {
        self.database.client().await.query_one(sql, &[]).await.expect("a count").get(0)
    }

    pub async fn sql(&self, sql: &str) {
        self.database.client().await.batch_execute(sql).await.expect("a statement");
    }
}

/// A code that is certainly not this one.
pub fn wrong_code(code: &str) -> String {
    code.chars().map(|digit| if digit == '9' { '0' } else { char::from(digit as u8 + 1) }).collect()
}

/// An empty input.
pub fn nothing() -> Value {
    json!({})
}
