//! The provider's answer becomes an identity: code for ID token, signature, claims.

use std::sync::Arc;

use porteiro_protocol::{
    jose::{VerifiedJws, VerifyError, verify_compact},
    relying_party::{Asserted, Expected, LogoutTokenError, SignedOut, check_id_token, check_logout_token},
    time::Duration,
};
use serde_json::{Value, json};
use url::form_urlencoded;
use zeroize::Zeroizing;

use super::{
    ClientAuthentication, Connection, Secrets,
    providers::{Known, Want},
    redirect_uri,
};
use crate::{App, oauth::verifying};

const LARGEST: usize = 64 * 1024;
const ASSERTION_SECONDS: Duration = Duration::seconds(60);
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// Distinguishes it from every token that we issue (RFC 8725 §3.11).
const ASSERTION_TYP: &str = "client-authentication+jwt";

/// The parameters of a successful authorization response.
#[derive(Clone, Copy)]
pub struct Answer<'a> {
    pub code: &'a str,
    pub iss: Option<&'a str>,
}

impl std::fmt::Debug for Answer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<answer>")
    }
}

/// Whom the provider vouches for, and what it says about them.
pub struct Verified {
    pub asserted: Asserted,
    /// All claims of the ID token.
    pub claims: Value,
    /// For the userinfo endpoint.
    pub(super) access_token: Option<Zeroizing<String>>,
}

impl std::fmt::Debug for Verified {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<verified>")
    }
}

/// The rule that an answer breaks, in a fixed text for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// Before the provider gave an ID token: anybody can send such an answer.
    Answer(&'static str),
    /// By the ID token that the provider gave. Only a person who signed in there can cause this.
    IdToken(&'static str),
}

/// Exchanges the answer for an ID token.
///
/// # Errors
/// The rule that the answer or the ID token breaks.
pub async fn exchange(
    app: &App,
    connection: &Connection,
    secrets: &Secrets,
    answer: Answer<'_>,
) -> Result<Verified, Broken> {
    let known = app.providers.get(app, connection, Want::Kept).await;
    let known = known.map_err(|_| Broken::Answer("the provider's metadata or keys cannot be fetched"))?;
    // RFC 9207 §2.4: before the code is sent anywhere.
    if !known.provider.accepts_iss(answer.iss, &connection.issuer) {
        return Err(Broken::Answer("the answer names another issuer"));
    }
    let tokens = redeem(app, connection, &known, secrets, answer.code).await.map_err(Broken::Answer)?;
    let verified = verify(app, connection, known, &tokens.id_token).await.map_err(Broken::IdToken)?;
    let expected = Expected {
        issuer: &connection.issuer,
        client_id: &connection.client_id,
        nonce: secrets.nonce(),
        now: app.clock.now(),
    };
    let asserted = check_id_token(&verified.payload, &expected);
    let asserted = asserted.map_err(|error| Broken::IdToken(error.as_str()))?;
    Ok(Verified { asserted, claims: verified.payload, access_token: tokens.access_token })
}

/// Verifies a logout token of the connection's provider.
///
/// # Errors
/// The rule that it breaks, in a fixed text.
pub async fn read_logout(app: &App, connection: &Connection, token: &str) -> Result<SignedOut, &'static str> {
    let known = app.providers.get(app, connection, Want::Kept).await;
    let known = known.map_err(|_| "the provider's metadata or keys cannot be fetched")?;
    let verified = verify(app, connection, known, token).await?;
    // §2.4 recommends the type. Other typed tokens of the provider are not meant for this.
    match verified.header["typ"].as_str() {
        None => {}
        Some(typ) if typ.eq_ignore_ascii_case("logout+jwt") || typ.eq_ignore_ascii_case("jwt") => {}
        Some(_) => return Err("the type of the token is not logout+jwt"),
    }
    let now = app.clock.now();
    let expected = Expected { issuer: &connection.issuer, client_id: &connection.client_id, nonce: "", now };
    check_logout_token(&verified.payload, &expected).map_err(LogoutTokenError::as_str)
}

/// A token response, as far as it is read.
struct Tokens {
    id_token: String,
    access_token: Option<Zeroizing<String>>,
}

impl Tokens {
    fn read(answer: &Value) -> Result<Self, &'static str> {
        let token = |name: &str| answer[name].as_str().map(str::to_owned);
        // RFC 6749 §7.1: a token of another type is not used.
        let is_bearer = answer["token_type"].as_str().is_some_and(|it| it.eq_ignore_ascii_case("bearer"));
        Ok(Self {
            id_token: token("id_token").ok_or("the provider returned no ID token")?,
            access_token: token("access_token").filter(|_| is_bearer).map(Zeroizing::new),
        })
    }
}

async fn redeem(
    app: &App,
    connection: &Connection,
    known: &Known,
    secrets: &Secrets,
    code: &str,
) -> Result<Tokens, &'static str> {
    let redirect_uri = redirect_uri(app, connection.id).ok_or("there is no page for answers")?;
    let mut form = vec![
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", &redirect_uri),
        ("code_verifier", secrets.verifier()),
    ];
    let (secret, assertion);
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let mut basic = None;
    match connection.client_authentication {
        ClientAuthentication::SecretBasic | ClientAuthentication::SecretPost => {
            secret = connection.secret(app).ok_or("the client secret cannot be decrypted")?;
            if connection.client_authentication == ClientAuthentication::SecretBasic {
                // RFC 6749 §2.3.1: encoded before they are joined.
                basic = Some((encoded(&connection.client_id), encoded(&secret)));
            } else {
                form.extend([
                    ("client_id", connection.client_id.as_str()),
                    ("client_secret", secret.as_str()),
                ]);
            }
        }
        ClientAuthentication::PrivateKeyJwt => {
            assertion = assert_client(app, connection).await?;
            form.extend([
                ("client_id", connection.client_id.as_str()),
                ("client_assertion_type", ASSERTION_TYPE),
                ("client_assertion", assertion.as_str()),
            ]);
        }
    }
    let basic = basic.as_ref().map(|(user, password)| (user.as_str(), password.as_str()));
    let url = &known.provider.token_endpoint;
    let answer = app.fetcher.exchange_form(connection.destination(), url, basic, &form, LARGEST).await;
    Tokens::read(&answer.map_err(|_| "the provider did not exchange the code")?)
}

/// RFC 7523 §3, with the provider's issuer as its only audience: no other server can use it.
async fn assert_client(app: &App, connection: &Connection) -> Result<String, &'static str> {
    let now = app.clock.now();
    let claims = json!({
        "iss": connection.client_id,
        "sub": connection.client_id,
        "aud": connection.issuer,
        "jti": uuid::Uuid::from_bytes(app.entropy.bytes::<16>()),
        "iat": now.unix_timestamp(),
        "exp": (now + ASSERTION_SECONDS).unix_timestamp(),
    });
    let signer = app.keys.current().signer(connection.algorithm);
    let signer = signer.map_err(|_| "there is no key of ours for this algorithm")?;
    signer.jwt(ASSERTION_TYP, &claims).await.map_err(|_| "the client assertion could not be signed")
}

/// Verifies with the connection's algorithm and the provider's keys, which are fetched again for an unknown key.
async fn verify(
    app: &App,
    connection: &Connection,
    known: Arc<Known>,
    token: &str,
) -> Result<VerifiedJws, &'static str> {
    let verdict = match verify_with(Arc::clone(&known.keys), connection, token).await {
        Err(VerifyError::UnknownKey) => {
            let newer = app.providers.get(app, connection, Want::Newer).await;
            let newer = newer.map_err(|_| "the ID token is signed with an unknown key")?;
            verify_with(Arc::clone(&newer.keys), connection, token).await
        }
        verdict => verdict,
    };
    verdict.map_err(|error| match error {
        VerifyError::Algorithm => "the ID token is not signed with the connection's algorithm",
        VerifyError::UnknownKey | VerifyError::SeveralKeys => "the ID token is signed with an unknown key",
        VerifyError::Signature => "the signature of the ID token is wrong",
        VerifyError::TooLong
        | VerifyError::Malformed
        | VerifyError::Critical
        | VerifyError::EmbeddedKey
        | VerifyError::PrivateKey => "the ID token cannot be read",
    })
}

async fn verify_with(
    keys: Arc<Vec<Value>>,
    connection: &Connection,
    token: &str,
) -> Result<VerifiedJws, VerifyError> {
    let (text, allowed) = (token.to_owned(), [connection.algorithm]);
    let verdict = verifying::run(token, move || verify_compact(&text, &keys, &allowed)).await;
    verdict.unwrap_or(Err(VerifyError::Signature))
}
