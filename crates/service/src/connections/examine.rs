//! The test of a connection: each step that a sign-in takes without the person, and what to do about the first that fails.

use porteiro_protocol::{jose::Algorithm, relying_party::Provider};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{
    Connection, Owner, Unusable,
    providers::{fit, keys, metadata, metadata_url},
    redirect_uri,
};
use crate::App;

/// One step of the test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ConnectionTestStep")]
pub struct Examined {
    /// `redirect_uri`, `metadata`, `metadata_content`, `keys`, `key` or, for an organization's directory, `userinfo`, in
    /// this order. The test ends with the first that fails.
    pub step: &'static str,
    pub ok: bool,
    /// What was found, or what to change.
    pub explanation: String,
}

fn passed(step: &'static str, explanation: impl Into<String>) -> Examined {
    Examined { step, ok: true, explanation: explanation.into() }
}

fn failed(step: &'static str, explanation: impl Into<String>) -> Examined {
    Examined { step, ok: false, explanation: explanation.into() }
}

/// Runs the steps, past everything that is kept.
pub async fn examine(app: &App, connection: &Connection) -> Vec<Examined> {
    let mut steps = Vec::new();
    if let Err(last) = run(app, connection, &mut steps).await {
        steps.push(last);
    }
    steps
}

async fn run(app: &App, connection: &Connection, steps: &mut Vec<Examined>) -> Result<(), Examined> {
    let redirect_uri = redirect_uri(app, connection.id).ok_or_else(|| {
        failed(
            "redirect_uri",
            "This service has no page for answers: the operator sets federation_page_path.",
        )
    })?;
    let register = format!("Register exactly this redirect URI at the provider: {redirect_uri}");
    steps.push(passed("redirect_uri", register));

    let url = metadata_url(connection);
    let document = metadata(app, connection).await.map_err(|_| failed("metadata", unreachable(&url)))?;
    steps.push(passed("metadata", format!("The metadata was fetched from {url}")));

    let provider = fit(&document, connection)
        .map_err(|why| failed("metadata_content", unfit(&why, &document, connection)))?;
    steps.push(passed("metadata_content", "Issuer, endpoints and algorithm are as configured."));

    let uri = &provider.jwks_uri;
    let keys = keys(app, connection, &provider).await.map_err(|_| failed("keys", unreachable(uri)))?;
    steps.push(passed("keys", format!("{} keys were fetched from {uri}", keys.len())));

    if !keys.iter().any(|key| may_verify(key, connection.algorithm)) {
        let text = format!(
            "None of the provider's keys is for {}. Choose the algorithm with which it signs ID tokens.",
            connection.algorithm.as_str()
        );
        return Err(failed("key", text));
    }
    steps.push(passed("key", "There is a key for the configured algorithm."));
    steps.extend(match connection.owner {
        Owner::Deployment => None,
        Owner::Organization(_, _) => Some(passed("userinfo", userinfo(&provider, &document))),
    });
    Ok(())
}

/// Where the address of a person is read who may join. Without a person nobody can try it.
fn userinfo(provider: &Provider, document: &Value) -> String {
    let instead =
        "If people join by this connection, the ID tokens must have the claims email and email_verified.";
    match (&provider.userinfo_endpoint, document["userinfo_endpoint"].as_str()) {
        (Some(endpoint), _) => {
            format!("What the ID token of a newcomer does not say is read from {endpoint}")
        }
        (None, Some(said)) => {
            let said: String = said.chars().take(200).collect();
            format!("The userinfo_endpoint {said:?} is not at the issuer's domain and is not used. {instead}")
        }
        (None, None) => format!("The metadata names no userinfo_endpoint. {instead}"),
    }
}

/// What an administrator reads about an ID token that was refused at a sign-in, and what to do about it.
pub fn explain(cause: &'static str, connection: &Connection) -> String {
    let remedy = match cause {
        "the ID token is not signed with the connection's algorithm" => {
            "choose the algorithm with which the provider signs ID tokens".to_owned()
        }
        "the ID token is signed with an unknown key" | "the signature of the ID token is wrong" => {
            "test the connection: it says which keys the provider has".to_owned()
        }
        "the ID token is of another issuer" => format!(
            "{:?} is configured, and both must be equal, also in the last slash; create the connection with the issuer \
             that the provider uses",
            connection.issuer
        ),
        "the ID token is for another client" => {
            format!("client_id is {:?}; it must be the client that is registered there", connection.client_id)
        }
        "the ID token has expired or is too old" | "the ID token is from the future" => {
            "compare the provider's clock with the right time".to_owned()
        }
        _ => "ask who runs the provider".to_owned(),
    };
    format!("{cause}: {remedy}")
}

fn unreachable(url: &str) -> String {
    format!(
        "{url} could not be fetched. Check that it is a public https address with a certificate that browsers trust, \
         and that it answers with status 200, the content type application/json and at most 64 KiB within three \
         seconds. The log of this service names the cause."
    )
}

/// What does not fit, and both values where they differ.
fn unfit(why: &Unusable, document: &Value, connection: &Connection) -> String {
    let error = match why {
        Unusable::Unfit(error) => error,
        Unusable::Elsewhere(name) => {
            let said: String = document[*name].as_str().unwrap_or("none").chars().take(200).collect();
            return format!(
                "The metadata names {said:?} as {name}. It must be at the host of the issuer {:?}, or at the usual port \
                 of a host under the same domain. Create the connection with the issuer to which the endpoint belongs.",
                connection.issuer
            );
        }
        Unusable::Metadata | Unusable::Keys | Unusable::JustTried => {
            return unreachable(&metadata_url(connection));
        }
    };
    let said: String = document["issuer"].as_str().unwrap_or("none").chars().take(200).collect();
    match error {
        porteiro_protocol::relying_party::MetadataError::Issuer => format!(
            "The metadata names the issuer {said:?}, but {:?} is configured. Both must be equal, also in the last slash. \
             Create the connection with the issuer that the provider uses.",
            connection.issuer
        ),
        other => format!("{other}."),
    }
}

/// RFC 7517 §4: a key of the algorithm's type that is not for another use or algorithm.
fn may_verify(key: &Value, algorithm: Algorithm) -> bool {
    let kty = match algorithm {
        Algorithm::Rs256 | Algorithm::Ps256 => "RSA",
        Algorithm::Es256 => "EC",
        Algorithm::EdDsa => "OKP",
    };
    let fits = |name: &str, value: &str| key[name].is_null() || key[name] == value;
    key["kty"] == kty && fits("use", "sig") && fits("alg", algorithm.as_str())
}
