//! From the parameters to a response, or to the flow that leads to one.

use std::sync::Arc;

use porteiro_protocol::{
    authorization_request::{MAX_REQUEST, Prompt, RawRequest, Refused, Source},
    error::ErrorCode,
};
use uuid::Uuid;

use super::{
    super::{
        client_documents::{self, Looked},
        clients,
    },
    Continued, Prepared, Stopped, Turned, decide,
    decide::refuse,
    hint::{Hint, read_hint},
    object, place, prepare, pushed, reference, respond, start,
};
use crate::{
    App,
    flow::{Answer, Delivery, FlowError, Started},
    http::RequestContext,
    members,
    store::StoreError,
};

/// The result of an authorization request.
#[derive(Debug)]
pub enum Begun {
    /// Shown in the browser, since no client may receive it.
    Page {
        code: ErrorCode,
        detail: String,
    },
    Delivered {
        delivery: Delivery,
        cookies: Vec<String>,
    },
    /// The person must act. `otherwise` is the error for the client if there is no page for the flow.
    Flow {
        answer: Box<Answer>,
        otherwise: Option<Delivery>,
    },
}

pub async fn begin(app: &Arc<App>, context: &RequestContext, raw: RawRequest) -> Result<Begun, FlowError> {
    if let Some(begun) = document_of(app, context, &raw).await? {
        return Ok(begun);
    }
    let raw = match reference::brought(app, context, raw).await? {
        Ok(raw) => raw,
        Err(stopped) => return stop(app, stopped).await,
    };
    if let Some(limited) = object::limited(app, context, &raw).await? {
        return Err(limited.into());
    }
    let continued = match continued_from(app, raw, Beside::Completes).await? {
        Ok(continued) => continued,
        Err(stopped) => return stop(app, stopped).await,
    };
    let prepared = match prepare(app, &app.store, &continued).await? {
        Ok(prepared) => prepared,
        Err(stopped) => return stop(app, stopped).await,
    };
    let continued = match naming(app, continued, &prepared).await? {
        Ok(continued) => continued,
        Err(refused) => {
            return stop(app, Stopped::Client(Box::new(Turned::new(&prepared, refused)))).await;
        }
    };
    let otherwise =
        Turned::new(&prepared, refuse(ErrorCode::InteractionRequired, "the service has no sign-in page"));
    match start(app, context, continued, prepared).await? {
        Started::Done { delivery, cookies } => Ok(Begun::Delivered { delivery, cookies }),
        Started::Blocked { refused } => {
            stop(app, Stopped::Client(Box::new(Turned { refused, ..otherwise }))).await
        }
        Started::Flow(answer) => {
            let otherwise = if decide::may_redirect_errors(&otherwise.client) {
                Some(delivered(respond::refusal(app, &otherwise).await)?)
            } else {
                None
            };
            Ok(Begun::Flow { answer, otherwise })
        }
    }
}

/// The client may be the URL of a document that is not read yet. What comes before the request, if anything does.
async fn document_of(
    app: &Arc<App>,
    context: &RequestContext,
    raw: &RawRequest,
) -> Result<Option<Begun>, FlowError> {
    let Ok(addressee) = raw.addressee() else { return Ok(None) };
    let page = |code, detail: String| Ok(Some(Begun::Page { code, detail }));
    match client_documents::look(app, context, addressee.client_id).await? {
        Looked::Known => Ok(None),
        Looked::Unusable(error) => page(error.code, error.description),
        Looked::SignInFirst => {
            match client_documents::sign_in_first(app, context, raw, addressee.client_id).await? {
                Some(Started::Flow(answer)) => Ok(Some(Begun::Flow { answer, otherwise: None })),
                Some(Started::Done { delivery, cookies }) => Ok(Some(Begun::Delivered { delivery, cookies })),
                Some(Started::Blocked { refused }) => page(refused.code, refused.description),
                None => {
                    page(ErrorCode::InvalidRequest, "the request is too large: push it (RFC 9126)".to_owned())
                }
            }
        }
    }
}

fn delivered<T>(outcome: Result<T, crate::oauth::keys::SignError>) -> Result<T, FlowError> {
    outcome.map_err(|error| FlowError::Internal(error.to_string()))
}

/// Sends the refusal to the client, where that is safe; otherwise shows it in the browser.
async fn stop(app: &Arc<App>, stopped: Stopped) -> Result<Begun, FlowError> {
    match stopped {
        Stopped::Page { code, detail } => Ok(Begun::Page { code, detail }),
        Stopped::Client(turned) if decide::may_redirect_errors(&turned.client) => {
            let delivery = delivered(respond::refusal(app, &turned).await)?;
            Ok(Begun::Delivered { delivery, cookies: Vec::new() })
        }
        Stopped::Client(turned) => {
            Ok(Begun::Page { code: turned.refused.code, detail: turned.refused.description })
        }
    }
}

/// How parameters beside a request object are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// They supply what the object omits, where OpenID Connect Core §6.1 allows it.
    Completes,
    /// They are ignored (RFC 9126 §3): the client is the caller and could have signed them.
    Ignored,
}

/// Step 1: finds the request in the parameters, the store or a request object.
pub async fn continued_from(
    app: &Arc<App>,
    raw: RawRequest,
    beside: Beside,
) -> Result<Result<Continued, Stopped>, StoreError> {
    let page = |code, detail: &str| Ok(Err(Stopped::Page { code, detail: detail.to_owned() }));
    if raw.size() > MAX_REQUEST {
        return page(ErrorCode::InvalidRequest, "the request is too large");
    }
    let source = match raw.source() {
        Ok(source) => source,
        Err(refused) => return page(refused.code, &refused.description),
    };
    match source {
        Source::Here => Ok(Ok(Continued::plain(raw))),
        Source::Pushed(uri) => {
            let client_id = match raw.addressee() {
                Ok(addressee) => addressee.client_id.to_owned(),
                Err(error) => return Ok(Err(error.into())),
            };
            // Parameters beside `request_uri` are ignored (RFC 9126 §4).
            match pushed::find(app, uri, &client_id).await? {
                Some(found) => Ok(Ok(Continued {
                    pushed: Some(found.id),
                    signed: found.signed,
                    ..Continued::plain(found.request)
                })),
                None => page(
                    ErrorCode::InvalidRequestUri,
                    "request_uri is unknown for this client, expired or used",
                ),
            }
        }
        Source::Object(text) => {
            let client_id = match raw.addressee() {
                Ok(addressee) => addressee.client_id.to_owned(),
                Err(error) => return Ok(Err(error.into())),
            };
            let Some(client) = clients::find(&app.store, &client_id).await? else {
                return page(ErrorCode::InvalidRequest, "the client is unknown");
            };
            match object::open(app, &client, text, &raw).await {
                Ok(request) if beside == Beside::Completes && object::may_be_completed(&client) => {
                    Ok(Ok(Continued { signed: true, ..Continued::plain(request.completed_by(&raw)) }))
                }
                Ok(request) => Ok(Ok(Continued { signed: true, ..Continued::plain(request) })),
                // The object is not authenticated, including its redirect URI.
                Err(refused) => page(refused.code, &refused.description),
            }
        }
        Source::Reference(_) => page(
            ErrorCode::RequestUriNotSupported,
            "request objects are fetched at the authorization endpoint only",
        ),
    }
}

/// The person that the request names, if any. `id_token_hint` (OpenID Connect Core §3.1.2.1) is an ID token that we
/// issued to this client, of any age: it names the person, but not in another organization. A `sub` in the claims
/// parameter (§5.5.1) is not authenticated: it is compared with the subject of the response and never looked up
/// (decision record 0077).
pub async fn naming(
    app: &App,
    continued: Continued,
    prepared: &Prepared,
) -> Result<Result<Continued, Refused>, StoreError> {
    let (subject, hint) = match named(app, prepared) {
        Ok(named) => named,
        Err(refused) => return Ok(Err(refused)),
    };
    let Some(hint) = hint else { return Ok(Ok(Continued { subject, ..continued })) };
    let hinted = match members::place_of(&app.store, hint.into()).await? {
        Some((organization, _)) if place::is_elsewhere(&app.store, prepared, organization).await? => {
            return Ok(Err(nobody()));
        }
        Some((_, account)) => account,
        None => hint.into(),
    };
    Ok(Ok(Continued { subject, hinted: Some(hinted), ..continued }))
}

/// The requested `sub`, and the subject of the hint.
fn named(app: &App, prepared: &Prepared) -> Result<(Option<Uuid>, Option<Uuid>), Refused> {
    let claims = prepared.request.claims.as_ref();
    let asked = claims.and_then(|claims| claims.id_token.get("sub")).and_then(|sub| sub.value.as_ref());
    let asked = match asked {
        None => None,
        Some(value) => Some(value.as_str().and_then(|text| text.parse().ok()).ok_or_else(nobody)?),
    };
    let Some(hint) = &prepared.request.id_token_hint else { return Ok((asked, None)) };
    let claims = match read_hint(app, hint) {
        Hint::Own(claims) => Some(claims).filter(|claims| claims["aud"] == prepared.client.id.as_str()),
        Hint::Outdated if prepared.request.prompts(Prompt::None) => return Err(outdated()),
        Hint::Outdated => return Ok((asked, None)),
        Hint::Foreign => None,
    };
    let subject: Option<Uuid> = claims.and_then(|claims| claims["sub"].as_str()?.parse().ok());
    let subject = subject.ok_or_else(|| {
        refuse(
            ErrorCode::InvalidRequest,
            "id_token_hint is not an ID token that this issuer issued to this client",
        )
    })?;
    match asked {
        Some(asked) if asked != subject => Err(nobody()),
        Some(_) | None => Ok((asked, Some(subject))),
    }
}

/// Without interaction it is unknown whether the right person is signed in (decision record 0087).
fn outdated() -> Refused {
    refuse(
        ErrorCode::LoginRequired,
        "the key that signed id_token_hint is retired: send the request without prompt=none",
    )
}

fn nobody() -> Refused {
    refuse(ErrorCode::LoginRequired, "the person in the hint is not signed in")
}
