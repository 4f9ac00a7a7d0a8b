//! The request a flow leads back to, and how its answer travels.

use porteiro_protocol::{authorization_request::RawRequest, id::AccountId, time::OffsetDateTime};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The request a flow leads back to. It is checked again whenever it is used.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Continued {
    pub request: RawRequest,
    /// Used up when the flow completes.
    pub pushed: Option<Uuid>,
    pub signed: bool,
    /// A first-party app asked without a browser: it gets the code itself.
    pub challenge: bool,
    /// A device asked, and gets the answer when it polls.
    #[serde(default)]
    pub device: Option<Asking>,
    /// Only this person will do (`id_token_hint`).
    pub hinted: Option<AccountId>,
    /// Only whom the answer would call this will do (`sub` of the claims parameter).
    #[serde(default)]
    pub subject: Option<Uuid>,
}

impl Continued {
    /// As it arrives: nobody was asked anything yet.
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

    /// How the answer travels.
    pub(super) const fn way(&self) -> Way {
        match (&self.device, self.challenge) {
            (Some(_), _) => Way::Device,
            (None, true) => Way::Direct,
            (None, false) => Way::Redirect,
        }
    }
}

/// The device behind a request, as far as the person who confirms it should know.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Asking {
    pub id: Uuid,
    pub user_code: String,
    pub address: String,
    pub user_agent: String,
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
    /// Whether it asked from the network the person is in.
    pub same_network: bool,
}

/// How an answer reaches its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Through the browser, to a redirect URI.
    Redirect,
    /// Back on the way the request came.
    Direct,
    /// The device polls for it.
    Device,
}
