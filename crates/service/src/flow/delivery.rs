//! What a person's browser or app is to do when a flow is over.

use porteiro_protocol::authorization_request::AuthorizationResponse;
use serde_json::{Value, json};

#[derive(Clone, PartialEq, Eq)]
pub enum Delivery {
    Browser(AuthorizationResponse),
    /// Straight into the answer, for a first-party app that has no redirect URI.
    Direct(Vec<(String, String)>),
    /// Nothing: whoever asked hears of it elsewhere. What the person is told of it.
    Elsewhere(Value),
}

impl std::fmt::Debug for Delivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<delivery>")
    }
}

impl Delivery {
    /// As the flow API says it.
    pub fn to_json(&self) -> Value {
        let object = |fields: &[(String, String)]| {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), json!(value))).collect())
        };
        match self {
            Self::Browser(AuthorizationResponse::Redirect { location }) => {
                json!({"type": "redirect", "uri": location})
            }
            Self::Browser(AuthorizationResponse::FormPost { action, fields }) => {
                json!({"type": "form_post", "action": action, "fields": object(fields)})
            }
            Self::Direct(fields) => json!({"type": "authorization", "response": object(fields)}),
            Self::Elsewhere(told) => told.clone(),
        }
    }

    /// The same without what is secret, for a flow that is asked again.
    pub(super) fn to_json_again(&self) -> Value {
        match self {
            Self::Browser(_) | Self::Direct(_) => json!({"type": self.to_json()["type"]}),
            Self::Elsewhere(told) => told.clone(),
        }
    }
}
