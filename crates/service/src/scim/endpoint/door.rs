//! What every request of a directory passes: the kind of its credential, its limit, and the record of a refusal.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, OriginalUri, Request},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use porteiro_protocol::scim::ErrorKind;
use serde_json::Value;

use super::super::{Call, Seen, represent::etag};
use crate::{
    App,
    http::{RequestContext, SCIM_JSON, ScimError, json_value},
    management::{By, Caller, provisioning},
};

/// The largest body.
const BODY: usize = 1_048_576;
/// How deep a body may nest.
const DEPTH: usize = 32;

/// A request that may be served.
pub(super) struct Door {
    pub call: Call,
    method: Method,
    /// The path below the organization.
    resource: String,
    pub query: String,
    headers: HeaderMap,
}

impl FromRequestParts<Arc<App>> for Door {
    type Rejection = ScimError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ScimError> {
        let caller = parts.extensions.get::<Caller>().cloned();
        let caller = caller.ok_or_else(|| ScimError::new(StatusCode::UNAUTHORIZED, "no credential"))?;
        if !is_directory(&caller) {
            let text =
                "use an API key of the organization, or the access token of a client that is its member";
            return Err(ScimError::new(StatusCode::FORBIDDEN, text));
        }
        let Ok(context) = RequestContext::from_request_parts(parts, app).await;
        let organization = caller.organization()?.id;
        if let Some(limited) = provisioning::take(app, organization).await? {
            return Err(limited.into());
        }
        let path = parts.extensions.get::<OriginalUri>().map_or(&parts.uri, |uri| &uri.0).path();
        let resource = provisioning::resource(path);
        Ok(Self {
            call: Call { app: Arc::clone(app), caller, context, organization },
            method: parts.method.clone(),
            resource,
            query: parts.uri.query().unwrap_or_default().to_owned(),
            headers: parts.headers.clone(),
        })
    }
}

/// A key of the organization itself, or one of its clients: no person, and nobody of the platform.
const fn is_directory(caller: &Caller) -> bool {
    match &caller.by {
        By::Key { membership, .. } => membership.is_none() && caller.reason.is_none(),
        By::Member { account, .. } => account.is_none() && caller.actor.act.is_none(),
        By::Operator(_) => false,
    }
}

impl Door {
    pub(super) async fn body(&self, request: Request) -> Result<Value, ScimError> {
        Ok(json_value(request, &[SCIM_JSON, "application/json"], BODY, DEPTH).await?)
    }

    /// `If-Match`; what is not one of our versions matches nothing.
    pub(super) fn seen(&self) -> Seen {
        let versions = self.tags(&header::IF_MATCH);
        match versions {
            None => Seen::Any,
            Some(tags) if tags.iter().any(|tag| tag == "*") => Seen::Any,
            Some(tags) => Seen::One(tags.iter().filter_map(|tag| version(tag)).collect()),
        }
    }

    fn tags(&self, name: &header::HeaderName) -> Option<Vec<String>> {
        let value = self.headers.get(name)?.to_str().unwrap_or_default();
        Some(value.split(',').map(|tag| tag.trim().to_owned()).collect())
    }

    /// A resource with its version; 304 if the directory has it.
    pub(super) fn one(&self, status: StatusCode, version: i64, resource: &Value) -> Response {
        let tag = etag(version);
        let known = self.tags(&header::IF_NONE_MATCH).is_some_and(|tags| tags.contains(&tag));
        let mut response = if known && self.method == Method::GET {
            StatusCode::NOT_MODIFIED.into_response()
        } else if status == StatusCode::NO_CONTENT {
            status.into_response()
        } else {
            document(status, resource)
        };
        if let Ok(value) = HeaderValue::from_str(&tag) {
            response.headers_mut().insert(header::ETAG, value);
        }
        let location = resource["meta"]["location"].as_str();
        if let Some(value) = location.and_then(|location| HeaderValue::from_str(location).ok()) {
            response.headers_mut().insert(header::LOCATION, value);
        }
        response
    }

    /// The answer; a refusal is recorded for the organization's administrators.
    pub(super) async fn answer(self, outcome: Result<Response, ScimError>) -> Response {
        match outcome {
            Ok(response) => response,
            Err(error) => {
                if self.is_recorded(error.status) {
                    self.record(&error).await;
                }
                error.into_response()
            }
        }
    }

    /// Not the unknown ids that directories look for, nor what is only too early.
    fn is_recorded(&self, status: StatusCode) -> bool {
        let expected = status == StatusCode::NOT_FOUND && self.method == Method::GET;
        status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS && !expected
    }

    /// A record that cannot be written does not change the answer.
    async fn record(&self, error: &ScimError) {
        let actor = &self.call.caller.actor;
        let refused = provisioning::Refused {
            organization: self.call.organization,
            actor: format!("{}:{}", actor.kind.as_str(), actor.id),
            method: self.method.to_string(),
            resource: self.resource.clone(),
            status: error.status.as_u16(),
            scim_type: error.kind.map(ErrorKind::as_str),
            detail: error.detail.clone(),
            request_id: self.call.context.request_id,
        };
        if provisioning::record(&self.call.app.store, &refused).await.is_err() {
            tracing::warn!("a refusal of a directory's request could not be recorded");
        }
    }
}

fn version(tag: &str) -> Option<i64> {
    tag.strip_prefix("W/").unwrap_or(tag).strip_prefix('"')?.strip_suffix('"')?.parse().ok()
}

pub(super) fn document(status: StatusCode, value: &Value) -> Response {
    let mut response = (status, value.to_string()).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(SCIM_JSON));
    response
}
