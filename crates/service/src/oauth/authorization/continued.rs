//! The request a flow leads back to, and how its answer travels.

use porteiro_protocol::{
    authorization_request::RawRequest,
    id::{AccountId, OrganizationId},
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::super::device::Asking;

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
    /// The person said which account it is.
    pub confirmed: bool,
    /// In which organization the person said they act.
    #[serde(default)]
    pub organization: Option<OrganizationId>,
    /// What the person is being shown, by its digest: what they say elsewhere meanwhile is no answer here.
    pub shown: Option<String>,
    /// What the person allowed in this flow, by its digest: nothing else.
    pub consented: Option<String>,
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
            confirmed: false,
            organization: None,
            shown: None,
            consented: None,
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
