//! The request that a flow continues, and how its response is delivered.

use porteiro_protocol::{authorization_request::RawRequest, id::AccountId, time::OffsetDateTime};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The request that a flow continues. It is checked again whenever it is used.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Continued {
    pub request: RawRequest,
    /// The pushed request; consumed when the flow completes.
    pub pushed: Option<Uuid>,
    pub signed: bool,
    /// A first-party client sent the request without a browser and receives the code itself.
    pub challenge: bool,
    /// A device sent the request and receives the response when it polls.
    #[serde(default)]
    pub device: Option<Asking>,
    /// Only this person may complete the flow (`id_token_hint`).
    pub hinted: Option<AccountId>,
    /// Only the person with this subject may complete the flow (`sub` of the claims parameter).
    #[serde(default)]
    pub subject: Option<Uuid>,
}

impl Continued {
    /// A request as received, without the results of later steps.
    pub const fn plain(request: RawRequest) -> Self {
        Self {
            request,
            pushed: None,
            signed: false,
            challenge: false,
            device: None,
            hinted: None,
            subject: None,
        }
    }

    /// How the response is delivered.
    pub(super) const fn way(&self) -> Way {
        match (&self.device, self.challenge) {
            (Some(_), _) => Way::Device,
            (None, true) => Way::Direct,
            (None, false) => Way::Redirect,
        }
    }
}

/// The device of a request, as shown to the person who confirms it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Asking {
    pub id: Uuid,
    pub user_code: String,
    pub address: String,
    pub user_agent: String,
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
    /// Whether the request came from the person's network.
    pub same_network: bool,
}

/// How a response is delivered to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Through the browser, to a redirect URI.
    Redirect,
    /// In the HTTP response to the request.
    Direct,
    /// The device polls for it.
    Device,
}
