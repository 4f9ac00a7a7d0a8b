//! HTTP without any feature: routes, extractors, headers, and errors as responses.

mod address;
mod body;
mod cache;
mod context;
mod headers;
mod layers;
mod oauth_error;
mod operation;
mod page;
mod problem;
mod resource_metadata;
mod route;
mod scim_error;

pub use address::{ClientAddress, ClientCertificate, Peer, is_trusted};
pub use body::{Form, Json, Sent, arrive, json_value, read, typed};
pub use cache::{Document, cached_json};
pub use context::{
    Acting, BIND_COOKIE, DEVICE_COOKIE, DIRECTORY_COOKIE, DOOR_COOKIE, RequestContext, SESSION_COOKIE,
    forget_cookies, forget_person, set_cookie,
};
pub use layers::{RequestInfo, Surroundings, build};
pub use oauth_error::{OAuthError, unreadable_form};
pub use operation::{Given, Operation, Parameter, REASON, Shape, Taken};
pub use page::{form_post_page, plain_page, prefers_json};
pub use problem::{Problem, ProblemCode, TxProblem, field_invalid};
pub use resource_metadata::PATH as RESOURCE_METADATA;
pub use route::{Access, Route, allow_client};
pub use scim_error::{SCIM_JSON, ScimError, present_scim_errors};
