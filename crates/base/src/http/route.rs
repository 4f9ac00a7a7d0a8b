//! A route: its method, path, handler and access.

use std::sync::Arc;

use axum::{
    extract::Request,
    handler::Handler,
    http::{HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
    routing::{MethodRouter, on},
};
use porteiro_protocol::redirect_uri::RedirectUri;

use super::{Operation, resource_metadata};
use crate::Core;

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// No credentials; with the reason.
    Public(&'static str),
    /// The flow's cookie or token; without it the flow is treated as unknown.
    FlowOwner,
    /// A client that authenticates with its registered method.
    Client,
    /// The client's registration access token (RFC 7592).
    RegistrationToken,
    /// A person's access token with this scope.
    Token(&'static str),
    /// A session, which is checked before the handler runs.
    Session,
    /// This permission in the organization of the path.
    Organization(&'static str),
    /// This permission on the platform.
    Platform(&'static str),
    /// A directory: the organization's own API key or client, with this permission. Errors are those of SCIM.
    Provisioning(&'static str),
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Public(why) => write!(f, "everyone: {why}"),
            Self::FlowOwner => write!(f, "the browser or app that opened the flow"),
            Self::Client => write!(f, "an authenticated client"),
            Self::RegistrationToken => write!(f, "the client's registration access token"),
            Self::Token(scope) => write!(f, "an access token with the scope `{scope}`"),
            Self::Session => write!(f, "a signed-in person"),
            Self::Organization(permission) => write!(f, "`{permission}` in the organization"),
            Self::Platform(permission) => write!(f, "`{permission}` on the platform"),
            Self::Provisioning(permission) => {
                write!(
                    f,
                    "`{permission}`, held by an API key of the organization or by a client that is its member"
                )
            }
        }
    }
}

/// Its handler receives an application of type `A`.
#[derive(Debug)]
pub struct Route<A> {
    pub method: Method,
    pub path: &'static str,
    pub access: Access,
    pub standard: Option<&'static str>,
    pub cors: bool,
    /// Its operation in the management API: requests are checked against it, and `porteiro admin` calls it.
    pub operation: Option<Arc<Operation>>,
    /// Its entry in the OpenAPI document, where it is not an operation of the management API.
    pub description: Option<Arc<Operation>>,
    handler: MethodRouter<Arc<A>>,
}

impl<A> Route<A> {
    /// What the OpenAPI document contains about it.
    pub fn documented(&self) -> Option<&Operation> {
        self.operation.as_deref().or(self.description.as_deref())
    }
}

impl<A: Send + Sync + 'static> Route<A> {
    pub fn get<H: Handler<T, Arc<A>>, T: 'static>(path: &'static str, access: Access, handler: H) -> Self {
        Self::on(Method::GET, path, access, handler)
    }

    pub fn post<H: Handler<T, Arc<A>>, T: 'static>(path: &'static str, access: Access, handler: H) -> Self {
        Self::on(Method::POST, path, access, handler)
    }

    pub fn put<H: Handler<T, Arc<A>>, T: 'static>(path: &'static str, access: Access, handler: H) -> Self {
        Self::on(Method::PUT, path, access, handler)
    }

    pub fn delete<H: Handler<T, Arc<A>>, T: 'static>(path: &'static str, access: Access, handler: H) -> Self {
        Self::on(Method::DELETE, path, access, handler)
    }

    pub fn patch<H: Handler<T, Arc<A>>, T: 'static>(path: &'static str, access: Access, handler: H) -> Self {
        Self::on(Method::PATCH, path, access, handler)
    }

    fn on<H, T>(method: Method, path: &'static str, access: Access, handler: H) -> Self
    where
        H: Handler<T, Arc<A>>,
        T: 'static,
    {
        let filter = match method {
            Method::POST => axum::routing::MethodFilter::POST,
            Method::PUT => axum::routing::MethodFilter::PUT,
            Method::DELETE => axum::routing::MethodFilter::DELETE,
            Method::PATCH => axum::routing::MethodFilter::PATCH,
            _ => axum::routing::MethodFilter::GET,
        };
        Self {
            method,
            path,
            access,
            standard: None,
            cors: false,
            operation: None,
            description: None,
            handler: on(filter, handler),
        }
    }

    /// The standard that defines this route.
    #[must_use]
    pub const fn standard(mut self, standard: &'static str) -> Self {
        self.standard = Some(standard);
        self
    }

    /// Its operation in the management API; requests are checked against it.
    #[must_use]
    pub fn operation(mut self, operation: Operation) -> Self {
        self.operation = Some(Arc::new(operation));
        self
    }

    /// Describes a route that is not an operation of the management API in the OpenAPI document. Requests are not checked
    /// against the description.
    #[must_use]
    pub fn described(mut self, operation: Operation) -> Self {
        self.description = Some(Arc::new(operation));
        self
    }

    /// Scripts of any origin may read the response. For public documents only, without credentials.
    #[must_use]
    pub fn cors(mut self) -> Self {
        self.cors = true;
        self.handler = self.handler.options(preflight).layer(axum::middleware::from_fn(allow_any_origin));
        self
    }

    /// Scripts of the client's own origins may read the response: the handler names them once it knows the client
    /// ([`allow_client`]). The preflight response is the same for every origin.
    #[must_use]
    pub fn cors_for_clients(mut self) -> Self {
        self.handler = self.handler.options(client_preflight);
        self
    }

    /// The same route with a layer around its handler: the guard adds the check that its access requires.
    #[must_use]
    pub fn wrapped(mut self, wrap: impl FnOnce(MethodRouter<Arc<A>>) -> MethodRouter<Arc<A>>) -> Self {
        self.handler = wrap(self.handler);
        self
    }

    /// The 401 answers of routes with an access token name the authorization server.
    pub(super) fn challenging(self, core: &Arc<Core>) -> Self {
        match self.access {
            Access::Token(_)
            | Access::Session
            | Access::Organization(_)
            | Access::Platform(_)
            | Access::Provisioning(_) => {
                let layer = axum::middleware::from_fn_with_state(Arc::clone(core), resource_metadata::name);
                self.wrapped(|handler| handler.layer(layer))
            }
            Access::Public(_) | Access::FlowOwner | Access::Client | Access::RegistrationToken => self,
        }
    }

    pub(super) fn into_parts(self) -> (&'static str, MethodRouter<Arc<A>>) {
        (self.path, self.handler)
    }
}

async fn preflight() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

async fn client_preflight() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, OPTIONS"));
    let names = HeaderValue::from_static("authorization, content-type, dpop");
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("3600"));
    response
}

/// Allows scripts of the origins of the client's redirect URIs to read the response.
pub fn allow_client(response: &mut Response, origin: Option<&str>, redirect_uris: &[RedirectUri]) {
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    // The opaque origin `null` identifies no site.
    let known = origin.filter(|origin| *origin != "null").filter(|origin| {
        redirect_uris.iter().any(|uri| {
            url::Url::parse(uri.as_str()).is_ok_and(|uri| uri.origin().ascii_serialization() == **origin)
        })
    });
    if let Some(value) = known.and_then(|origin| HeaderValue::from_str(origin).ok()) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, value);
        let names = HeaderValue::from_static("dpop-nonce, www-authenticate");
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, names);
        headers.insert("cross-origin-resource-policy", HeaderValue::from_static("cross-origin"));
    }
}

async fn allow_any_origin(request: Request, next: Next) -> Response {
    let preflight = request.method() == Method::OPTIONS;
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("cross-origin"));
    if preflight {
        headers.insert(
            header::ACCESS_CONTROL_ALLOW_METHODS,
            HeaderValue::from_static("GET, HEAD, POST, OPTIONS"),
        );
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*"));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    }
    response
}
