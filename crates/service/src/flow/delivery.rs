//! The response to the person's browser or app at the end of a flow.

use porteiro_protocol::authorization_request::AuthorizationResponse;
use serde_json::{Value, json};

#[derive(Clone, PartialEq, Eq)]
pub enum Delivery {
    Browser(AuthorizationResponse),
    /// In the response body, for a first-party app without a redirect URI.
    Direct(Vec<(String, String)>),
    /// Nothing: the client learns the result elsewhere. The value is shown to the person.
    Elsewhere(Value),
}

impl std::fmt::Debug for Delivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<delivery>")
    }
}

impl Delivery {
    /// As in the flow API.
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

    /// The same without secrets, for a repeated request.
    pub(super) fn to_json_again(&self) -> Value {
        match self {
            Self::Browser(_) | Self::Direct(_) => json!({"type": self.to_json()["type"]}),
            Self::Elsewhere(told) => told.clone(),
        }
    }
}
