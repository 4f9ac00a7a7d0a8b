//! All HTTP requests of this service to other servers (docs/decisions/0010).
//!
//! 1. The caller states who chose the address: [`Destination`].
//! 2. The URL is checked: https, a host name, port 443 ([`policy`]).
//! 3. The name is resolved once; a single address that is not public is a refusal; the client connects to the checked
//!    addresses and uses TLS with the name ([`resolver`]).
//! 4. No redirects, no proxies, no retries, no cookies, no decompression; a second to connect, three in all.
//! 5. Every failure is the same [`FetchError`]; for addresses from unauthenticated callers also after the same time, or
//!    they could scan our network.

mod addresses;
mod caching;
mod lanes;
mod policy;
mod resolver;
mod webhook;

use std::{fmt, path::Path, sync::Arc, time::Duration};

use http::{HeaderMap, Method, header};
use porteiro_protocol::json;
use reqwest::{Client, RequestBuilder};
use rustls::{ClientConfig, RootCertStore, pki_types::CertificateDer, pki_types::pem::PemObject};
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout_at};
use url::form_urlencoded;

pub use policy::{Destination, FetchPolicy};
pub use resolver::{Answers, Lookup};
pub use webhook::{SECRET_RULE, WebhookKey, WebhookMessage};

use self::{
    lanes::{Errand, Lanes},
    policy::Way,
    resolver::Resolver,
};

const CONNECT: Duration = Duration::from_secs(1);
const TOTAL: Duration = Duration::from_secs(3);
const MAX_DEPTH: usize = 16;

/// The request failed. Only the log has the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the address could not be fetched")]
pub struct FetchError;

pub struct Fetcher {
    policy: FetchPolicy,
    /// Separate clients: a connection opened for the operator is never reused for an address from an unauthenticated
    /// caller, and slow names of such callers do not delay the operator's requests.
    strangers: Client,
    operators: Client,
    listed: Client,
    lanes: Lanes,
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<fetcher>")
    }
}

/// The expected media type and the maximum length of a body.
struct Wanted {
    media: fn(&str) -> bool,
    limit: usize,
}

impl Fetcher {
    /// # Errors
    /// What is wrong with the policy or the certificate authorities.
    pub fn new(policy: FetchPolicy) -> Result<Self, String> {
        Self::with_lookups(policy, Arc::new(resolver::System::new()), Arc::new(resolver::System::new()))
    }

    /// With another resolver, for tests.
    ///
    /// # Errors
    /// As [`Fetcher::new`].
    pub fn with_lookup(policy: FetchPolicy, lookup: Arc<dyn Lookup>) -> Result<Self, String> {
        Self::with_lookups(policy, Arc::clone(&lookup), lookup)
    }

    fn with_lookups(
        policy: FetchPolicy,
        strangers: Arc<dyn Lookup>,
        operators: Arc<dyn Lookup>,
    ) -> Result<Self, String> {
        policy.check_hosts()?;
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let guarded = |lookup| client(Resolver { lookup, way: Way::Guarded }, roots.clone());
        let (strangers, ours) = (guarded(strangers)?, guarded(Arc::clone(&operators))?);
        if let Some(file) = &policy.private_ca_file {
            believe(&mut roots, file)?;
        }
        let listed = client(Resolver { lookup: operators, way: Way::Listed }, roots)?;
        Ok(Self { policy, strangers, operators: ours, listed, lanes: Lanes::new() })
    }

    /// A JSON document, parsed as strictly as the body of a request.
    pub async fn get_json(&self, to: Destination, url: &str, limit: usize) -> Result<Value, FetchError> {
        let wanted = Wanted { media: is_json, limit };
        self.get(to, url, "application/json", wanted, |body| json::parse_strict(&body, MAX_DEPTH).ok()).await
    }

    /// The same with an access token (RFC 6750 §2.1): what a userinfo endpoint says about a person.
    pub async fn get_json_as(
        &self,
        to: Destination,
        url: &str,
        bearer: &str,
        limit: usize,
    ) -> Result<Value, FetchError> {
        let dress =
            |request: RequestBuilder| request.bearer_auth(bearer).header(header::ACCEPT, "application/json");
        self.exchange(to, Method::GET, url, dress, async |answer| document(answer, limit).await).await
    }

    /// The same without a token, and for how many seconds it says that it may be kept; none where it says nothing.
    pub async fn get_cacheable_json(
        &self,
        to: Destination,
        url: &str,
        limit: usize,
    ) -> Result<(Value, Option<u64>), FetchError> {
        let dress = |request: RequestBuilder| request.header(header::ACCEPT, "application/json");
        self.exchange(to, Method::GET, url, dress, async |answer| {
            let lifetime = caching::lifetime(answer.headers());
            Ok((document(answer, limit).await?, lifetime))
        })
        .await
    }

    pub async fn get_text(&self, to: Destination, url: &str, limit: usize) -> Result<String, FetchError> {
        let wanted = Wanted { media: |media| media == "text/plain", limit };
        self.get(to, url, "text/plain", wanted, |body| String::from_utf8(body).ok()).await
    }

    /// A JSON Web Token (RFC 9101 §5.2.3). The caller verifies its signature.
    pub async fn get_jwt(&self, to: Destination, url: &str, limit: usize) -> Result<String, FetchError> {
        let media = |media: &str| matches!(media, "application/jwt" | "application/oauth-authz-req+jwt");
        let accept = "application/oauth-authz-req+jwt, application/jwt";
        let read = |body| String::from_utf8(body).ok().map(|text| text.trim_end().to_owned());
        self.get(to, url, accept, Wanted { media, limit }, read).await
    }

    /// The JSON answer to a form: a token response (RFC 6749 §5.1).
    pub async fn exchange_form(
        &self,
        to: Destination,
        url: &str,
        auth: Option<(&str, &str)>,
        form: &[(&str, &str)],
        limit: usize,
    ) -> Result<Value, FetchError> {
        let dress = |request: RequestBuilder| {
            with_form(request, auth, form).header(header::ACCEPT, "application/json")
        };
        self.exchange(to, Method::POST, url, dress, async |answer| document(answer, limit).await).await
    }

    /// Returns the status; the body is not read.
    pub async fn post_form(
        &self,
        to: Destination,
        url: &str,
        auth: Option<(&str, &str)>,
        form: &[(&str, &str)],
    ) -> Result<u16, FetchError> {
        let dress = |request: RequestBuilder| with_form(request, auth, form);
        self.exchange(to, Method::POST, url, dress, async |answer| Ok(answer.status().as_u16())).await
    }

    /// Returns the status; the body is not read.
    pub async fn post_json(
        &self,
        to: Destination,
        url: &str,
        bearer: Option<&str>,
        body: &Value,
    ) -> Result<u16, FetchError> {
        let dress = |request: RequestBuilder| {
            let request = request.header(header::CONTENT_TYPE, "application/json").body(body.to_string());
            match bearer {
                Some(token) => request.bearer_auth(token),
                None => request,
            }
        };
        self.exchange(to, Method::POST, url, dress, async |answer| Ok(answer.status().as_u16())).await
    }

    /// Whether an address may be requested at all, before its name is resolved.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self, to: Destination, url: &str) -> Result<(), &'static str> {
        self.policy.check(to, url)
    }

    /// Sends an empty message to a browser, by its push service (RFC 8030 §5), which keeps it for so many seconds. A newer
    /// one replaces it. Returns the status; the body is not read.
    pub async fn post_push(&self, url: &str, authorization: &str, seconds: i64) -> Result<u16, FetchError> {
        let dress = |request: RequestBuilder| {
            request
                .header(header::AUTHORIZATION, authorization)
                .header(header::CONTENT_LENGTH, 0)
                .header("ttl", seconds)
                .header("urgency", "high")
                .header("topic", "approvals")
        };
        let read = async |answer: reqwest::Response| Ok(answer.status().as_u16());
        self.exchange(Destination::Strangers, Method::POST, url, dress, read).await
    }

    /// Sends a signed message to the operator's own receiver. Returns the status; the body is not read.
    pub async fn post_webhook(
        &self,
        url: &str,
        key: &WebhookKey,
        message: &WebhookMessage,
    ) -> Result<u16, FetchError> {
        let dress = |request: RequestBuilder| {
            request
                .header(header::CONTENT_TYPE, "application/json")
                .header("webhook-id", &message.id)
                .header("webhook-timestamp", message.timestamp)
                .header("webhook-signature", key.sign(message))
                .body(message.body.clone())
        };
        let read = async |answer: reqwest::Response| Ok(answer.status().as_u16());
        self.exchange(Destination::Operators, Method::POST, url, dress, read).await
    }

    async fn get<T>(
        &self,
        to: Destination,
        url: &str,
        accept: &'static str,
        wanted: Wanted,
        read: fn(Vec<u8>) -> Option<T>,
    ) -> Result<T, FetchError> {
        let dress = |request: RequestBuilder| request.header(header::ACCEPT, accept);
        self.exchange(to, Method::GET, url, dress, async |answer| {
            read(body(answer, &wanted).await?).ok_or("does not match its content type")
        })
        .await
    }

    async fn exchange<T>(
        &self,
        to: Destination,
        method: Method,
        url: &str,
        dress: impl FnOnce(RequestBuilder) -> RequestBuilder,
        read: impl AsyncFnOnce(reqwest::Response) -> Result<T, &'static str>,
    ) -> Result<T, FetchError> {
        let (url, way) = self.policy.judge(to, url).map_err(|why| failed(to, why))?;
        let deadline = Instant::now() + TOTAL;
        let client = match (way, to) {
            (Way::Guarded, Destination::Strangers | Destination::Documents | Destination::Organizations) => {
                &self.strangers
            }
            (Way::Guarded, Destination::Operators) => &self.operators,
            (
                Way::Listed,
                Destination::Strangers
                | Destination::Documents
                | Destination::Organizations
                | Destination::Operators,
            ) => &self.listed,
        };
        let attempt = async {
            let host = url.host_str().unwrap_or_default().to_owned();
            let errand = if method == Method::GET { Errand::Read } else { Errand::Tell };
            let _lane = self.lanes.enter(to, errand, &host).await.ok_or("no capacity")?;
            let request = dress(client.request(method, url).header(header::ACCEPT_ENCODING, "identity"));
            let answer = request.send().await.map_err(|error| in_words(&error))?;
            read(answer).await
        };
        let why = match timeout_at(deadline, attempt).await {
            Ok(Ok(result)) => return Ok(result),
            Ok(Err(why)) => why,
            Err(_) => "took too long",
        };
        match to {
            Destination::Strangers | Destination::Documents | Destination::Organizations => {
                sleep_until(deadline).await;
            }
            Destination::Operators => {}
        }
        Err(failed(to, why))
    }
}

fn with_form(request: RequestBuilder, auth: Option<(&str, &str)>, form: &[(&str, &str)]) -> RequestBuilder {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded").body(body);
    match auth {
        Some((user, password)) => request.basic_auth(user, Some(password)),
        None => request,
    }
}

/// Logs one of our own fixed texts: never the address or the response.
fn failed(to: Destination, why: &'static str) -> FetchError {
    tracing::info!(?to, why, "an outbound request failed");
    FetchError
}

fn in_words(error: &reqwest::Error) -> &'static str {
    if error.is_connect() {
        "could not be connected to"
    } else if error.is_timeout() {
        "took too long"
    } else {
        "did not answer with HTTP"
    }
}

async fn body(mut answer: reqwest::Response, wanted: &Wanted) -> Result<Vec<u8>, &'static str> {
    if answer.status() != http::StatusCode::OK {
        return Err("did not answer 200");
    }
    if answer.headers().contains_key(header::CONTENT_ENCODING) {
        return Err("answered with an unrequested content encoding");
    }
    if !media_type(answer.headers()).is_some_and(|media| (wanted.media)(&media)) {
        return Err("answered with another content type");
    }
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| in_words(&error))? {
        // Counted as it arrives; a length header is not trusted.
        if body.len() + chunk.len() > wanted.limit {
            return Err("answered with too large a body");
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

async fn document(answer: reqwest::Response, limit: usize) -> Result<Value, &'static str> {
    let body = body(answer, &Wanted { media: is_json, limit }).await?;
    json::parse_strict(&body, MAX_DEPTH).map_err(|_| "does not match its content type")
}

fn media_type(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    Some(text.split(';').next()?.trim().to_ascii_lowercase())
}

/// `application/json`, and what is built on it: `application/jwk-set+json`.
fn is_json(media: &str) -> bool {
    media.strip_prefix("application/").is_some_and(|kind| kind == "json" || kind.ends_with("+json"))
}

#[expect(clippy::disallowed_methods, reason = "this is the guarded fetcher")]
fn client(resolver: Resolver, roots: RootCertStore) -> Result<Client, String> {
    let https_only = resolver.way == Way::Guarded;
    Client::builder()
        .user_agent("porteiro")
        .tls_backend_preconfigured(tls(roots)?)
        .https_only(https_only)
        .http1_only()
        .dns_resolver(Arc::new(resolver))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        // Off by features already; another crate in the dependency tree could switch them on.
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .connect_timeout(CONNECT)
        .timeout(TOTAL)
        // Every request resolves and checks the name again.
        .pool_max_idle_per_host(0)
        .build()
        .map_err(|error| error.to_string())
}

fn believe(roots: &mut RootCertStore, file: &Path) -> Result<(), String> {
    let wrong = |reason: &dyn fmt::Display| format!("{}: {reason}", file.display());
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| wrong(&error))? {
        roots.add(certificate.map_err(|error| wrong(&error))?).map_err(|error| wrong(&error))?;
    }
    Ok(())
}

fn tls(roots: RootCertStore) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth())
}
