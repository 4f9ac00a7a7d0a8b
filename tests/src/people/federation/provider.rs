//! An OpenID provider of the tests: real sockets, real signatures, and one switch for each rule that it can break.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use aws_lc_rs::digest;
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use porteiro_protocol::{
    jose::{Algorithm, Header, SigningKey, generate_pkcs8, signing_input},
    time::{Clock, OffsetDateTime},
};
use porteiro_testkit::TestApp;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpListener};
use url::Url;

use crate::fetch::{http, read_request};

pub const CLIENT: &str = "porteiro+there";
pub const SECRET: &str = "secret:with+colon&more%";

/// How a provider misbehaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The ID token is unsigned.
    NoneAlgorithm,
    /// Signed with the public key as if it were a shared secret.
    PublicKeyAsSecret,
    /// Signed with a key of its own that it does not publish.
    UnknownKey,
    /// Signed with another algorithm than the pinned one.
    OtherAlgorithm,
    /// The payload was replaced after signing: another subject.
    SwappedSubject,
    /// No ID token at all.
    NoIdToken,
    /// The token endpoint takes longer than anybody waits.
    Slow,
    /// The token response is larger than anybody reads.
    Huge,
    /// The token endpoint redirects.
    Redirect,
}

/// How its userinfo endpoint answers.
#[derive(Debug, Clone, Default)]
pub enum Userinfo {
    /// There is none.
    #[default]
    Missing,
    /// With these claims, and the subject of the access token unless they name another one.
    Says(Value),
    /// With a status that is not 200.
    Fails,
    /// Later than anybody waits.
    Slow,
    /// With more than anybody reads.
    Huge,
    /// As a signed token.
    Signed,
}

#[derive(Debug, Clone)]
struct Asked {
    nonce: String,
    challenge: String,
    redirect_uri: String,
    subject: String,
}

#[derive(Default)]
struct Inside {
    asked: HashMap<String, Asked>,
    /// Members of the metadata that differ.
    metadata: Value,
    /// Claims of the ID token that differ; null leaves out.
    claims: Value,
    fault: Option<Fault>,
    userinfo: Userinfo,
    /// Paths that were asked for.
    heard: Vec<String>,
    now: Option<OffsetDateTime>,
    /// Logout tokens so far.
    told: u32,
    /// The last request.
    last: String,
}

pub struct Provider {
    pub port: u16,
    inside: Arc<Mutex<Inside>>,
    key: Arc<SigningKey>,
}

fn key(algorithm: Algorithm) -> SigningKey {
    SigningKey::from_pkcs8(algorithm, &generate_pkcs8(algorithm).unwrap()).unwrap()
}

fn sign(key: &SigningKey, claims: &Value) -> String {
    let header = Header { typ: "JWT", alg: key.algorithm(), kid: &key.public().kid };
    let input = signing_input(&header, claims).unwrap();
    let signature = key.sign(input.as_bytes()).unwrap();
    format!("{input}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn encoded(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

impl Provider {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let inside =
            Arc::new(Mutex::new(Inside { metadata: json!({}), claims: json!({}), ..Inside::default() }));
        let own = Arc::new(key(Algorithm::Es256));
        let (shared, key) = (Arc::clone(&inside), Arc::clone(&own));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (shared, key) = (Arc::clone(&shared), Arc::clone(&key));
                tokio::spawn(async move {
                    let request = read_request(&mut stream).await;
                    let (answer, pause) = shared.lock().unwrap().answer(&request, port, &key);
                    tokio::time::sleep(pause).await;
                    let _ = stream.write_all(answer.as_bytes()).await;
                });
            }
        });
        Self { port, inside, key: own }
    }

    pub fn issuer(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Its clock is that of the application.
    pub fn agree(&self, app: &TestApp) {
        self.inside.lock().unwrap().now = Some(app.clock.now());
    }

    pub fn bend_claims(&self, claims: Value) {
        self.inside.lock().unwrap().claims = claims;
    }

    pub fn bend_metadata(&self, metadata: Value) {
        self.inside.lock().unwrap().metadata = metadata;
    }

    pub fn fail(&self, fault: Option<Fault>) {
        self.inside.lock().unwrap().fault = fault;
    }

    /// The metadata names the endpoint from now on; a connection is changed for it to be read again.
    pub fn userinfo(&self, userinfo: Userinfo) {
        let mut inside = self.inside.lock().unwrap();
        inside.metadata["userinfo_endpoint"] = json!(format!("{}/userinfo", self.issuer()));
        inside.userinfo = userinfo;
    }

    pub fn scope(&self) -> String {
        self.sent("scope").unwrap()
    }

    /// A parameter of the last request with which somebody came.
    pub fn sent(&self, name: &str) -> Option<String> {
        let url = Url::parse(&self.inside.lock().unwrap().last).unwrap();
        url.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
    }

    /// Its time, in seconds since 1970.
    pub fn now(&self) -> i64 {
        self.inside.lock().unwrap().now.expect("a clock").unix_timestamp()
    }

    pub fn heard(&self, path: &str) -> usize {
        self.inside.lock().unwrap().heard.iter().filter(|heard| *heard == path).count()
    }

    /// A logout token with other claims; null leaves out.
    pub fn logout_token(&self, more: &Value) -> String {
        let mut inside = self.inside.lock().unwrap();
        inside.told += 1;
        let now = inside.now.expect("a clock").unix_timestamp();
        let events = json!({"http://schemas.openid.net/event/backchannel-logout": {}});
        let mut claims = json!({"iss": self.issuer(), "aud": CLIENT, "iat": now, "exp": now + 120,
                                "jti": format!("logout-{}", inside.told), "events": events});
        merge(&mut claims, more);
        sign(&self.key, &claims)
    }

    /// The person signs in there; the parameters of the answer.
    pub fn answer(&self, redirect_to: &str, subject: &str) -> Value {
        let url = Url::parse(redirect_to).unwrap();
        let get = |name: &str| {
            let mut values = url.query_pairs().filter(|(known, _)| known == name);
            let (_, value) = values.next().unwrap_or_else(|| panic!("no {name} in {redirect_to}"));
            assert!(values.next().is_none());
            value.into_owned()
        };
        assert_eq!(get("response_type"), "code");
        assert_eq!((get("client_id"), get("code_challenge_method")), (CLIENT.into(), "S256".into()));
        let mut inside = self.inside.lock().unwrap();
        redirect_to.clone_into(&mut inside.last);
        let code = format!("code-{}", inside.asked.len());
        let asked = Asked {
            nonce: get("nonce"),
            challenge: get("code_challenge"),
            redirect_uri: get("redirect_uri"),
            subject: subject.to_owned(),
        };
        let connection = asked.redirect_uri.rsplit('/').next().unwrap().to_owned();
        inside.asked.insert(code.clone(), asked);
        json!({"connection": connection, "state": get("state"), "code": code})
    }
}

impl Inside {
    fn answer(&mut self, request: &str, port: u16, key: &SigningKey) -> (String, Duration) {
        let path = request.split_whitespace().nth(1).unwrap_or_default().to_owned();
        self.heard.push(path.clone());
        let fine = |body: &Value| http("200 OK", "content-type: application/json\r\n", &body.to_string());
        let issuer = format!("http://127.0.0.1:{port}");
        match path.as_str() {
            "/.well-known/openid-configuration" => {
                let mut document = json!({
                    "issuer": issuer,
                    "authorization_endpoint": format!("{issuer}/authorize?tenant=1"),
                    "token_endpoint": format!("{issuer}/token"),
                    "jwks_uri": format!("{issuer}/jwks"),
                    "id_token_signing_alg_values_supported": ["ES256"],
                });
                merge(&mut document, &self.metadata);
                (fine(&document), Duration::ZERO)
            }
            "/jwks" => (fine(&json!({"keys": [key.public()]})), Duration::ZERO),
            "/token" => match self.fault {
                Some(Fault::Slow) => (fine(&json!({})), Duration::from_secs(5)),
                Some(Fault::Redirect) => (http("302 Found", "location: /jwks\r\n", ""), Duration::ZERO),
                _ => (
                    self.token(request, &issuer, key).map_or_else(
                        |why| http("400 Bad Request", "content-type: application/json\r\n", why),
                        |body| fine(&body),
                    ),
                    Duration::ZERO,
                ),
            },
            "/userinfo" => self.userinfo(request),
            _ => (http("404 Not Found", "", ""), Duration::ZERO),
        }
    }

    /// What it says about the subject of the access token.
    fn userinfo(&self, request: &str) -> (String, Duration) {
        let json = "content-type: application/json\r\n";
        let head = request.to_ascii_lowercase();
        let token = head.lines().find_map(|line| line.strip_prefix("authorization: bearer access-to-"));
        let Some(subject) = token.map(str::trim) else {
            return (http("401 Unauthorized", json, "{}"), Duration::ZERO);
        };
        let mut claims = json!({"sub": subject, "email": "ana@example.test", "email_verified": true});
        let answer = match &self.userinfo {
            Userinfo::Missing => http("404 Not Found", "", ""),
            Userinfo::Fails => http("500 Internal Server Error", json, "{}"),
            Userinfo::Huge => {
                http("200 OK", json, &json!({"sub": subject, "x": "x".repeat(100_000)}).to_string())
            }
            Userinfo::Signed => http("200 OK", "content-type: application/jwt\r\n", "e30.e30.e30"),
            Userinfo::Slow => return (http("200 OK", json, &claims.to_string()), Duration::from_secs(5)),
            Userinfo::Says(more) => {
                merge(&mut claims, more);
                http("200 OK", json, &claims.to_string())
            }
        };
        (answer, Duration::ZERO)
    }

    /// A code counts once, for its verifier and redirect URI, from the authenticated client.
    fn token(&mut self, request: &str, issuer: &str, key: &SigningKey) -> Result<Value, &'static str> {
        let (head, body) = request.split_once("\r\n\r\n").ok_or("no body")?;
        let form: HashMap<String, String> =
            url::form_urlencoded::parse(body.as_bytes()).into_owned().collect();
        let part = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let basic = STANDARD.encode(format!("{}:{}", part(CLIENT), part(SECRET)));
        if !head.contains(&format!("authorization: Basic {basic}")) {
            return Err("who are you");
        }
        let asked = self.asked.remove(&form["code"]).ok_or("no such code")?;
        let challenge =
            URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, form["code_verifier"].as_bytes()));
        if challenge != asked.challenge || form["redirect_uri"] != asked.redirect_uri {
            return Err("not yours");
        }
        let now = self.now.expect("a clock").unix_timestamp();
        let mut claims = json!({"iss": issuer, "sub": asked.subject, "aud": CLIENT, "nonce": asked.nonce,
                                "iat": now, "exp": now + 300, "email": "ana@example.test", "email_verified": true});
        merge(&mut claims, &self.claims);
        let access_token = format!("access-to-{}", asked.subject);
        let mut answer =
            json!({"access_token": access_token, "token_type": "Bearer", "id_token": sign(key, &claims)});
        match self.fault {
            Some(Fault::NoIdToken) => answer["id_token"] = Value::Null,
            Some(Fault::Huge) => answer["padding"] = json!("x".repeat(100_000)),
            Some(fault) => answer["id_token"] = json!(forged(fault, key, &claims)),
            None => {}
        }
        Ok(answer)
    }
}

fn merge(into: &mut Value, more: &Value) {
    for (name, value) in more.as_object().into_iter().flatten() {
        into[name] = value.clone();
    }
}

fn forged(fault: Fault, own: &SigningKey, claims: &Value) -> String {
    match fault {
        Fault::NoneAlgorithm => format!("{}.{}.", encoded(&json!({"alg": "none"})), encoded(claims)),
        Fault::PublicKeyAsSecret => {
            let header = json!({"alg": "HS256", "kid": own.public().kid});
            let input = format!("{}.{}", encoded(&header), encoded(claims));
            let secret = serde_json::to_vec(own.public()).unwrap();
            let secret = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, &secret);
            let tag = aws_lc_rs::hmac::sign(&secret, input.as_bytes());
            format!("{input}.{}", URL_SAFE_NO_PAD.encode(tag))
        }
        Fault::UnknownKey => sign(&key(Algorithm::Es256), claims),
        Fault::OtherAlgorithm => sign(&key(Algorithm::EdDsa), claims),
        Fault::SwappedSubject => {
            let signed = sign(own, claims);
            let mut parts: Vec<&str> = signed.split('.').collect();
            let mut other = claims.clone();
            other["sub"] = json!("ana-there");
            let payload = encoded(&other);
            parts[1] = &payload;
            parts.join(".")
        }
        Fault::NoIdToken | Fault::Slow | Fault::Huge | Fault::Redirect => sign(own, claims),
    }
}
