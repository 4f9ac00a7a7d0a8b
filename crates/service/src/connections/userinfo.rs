//! What a directory says only at its userinfo endpoint (OpenID Connect Core §5.3, docs/decisions/0139).

use porteiro_protocol::relying_party::{OtherSubject, add_userinfo};

use super::{
    Connection, Entry, Verified,
    providers::{LARGEST, Want},
};
use crate::App;

/// Why the userinfo endpoint could not complete an ID token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserinfoError {
    OtherSubject,
    Unreadable,
}

impl UserinfoError {
    /// In words by which an administrator can change it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OtherSubject => {
                "the userinfo endpoint of the directory answered about another person: its sub is not that of the ID token"
            }
            Self::Unreadable => {
                "the userinfo endpoint of the directory could not be read: it must answer the access token with status \
                 200, the content type application/json (a signed or encrypted answer is not read) and at most 64 KiB \
                 within three seconds"
            }
        }
    }
}

impl From<OtherSubject> for UserinfoError {
    fn from(_: OtherSubject) -> Self {
        Self::OtherSubject
    }
}

/// Completes the claims of an ID token, if it lacks some by which people enter and the directory has such an endpoint.
/// Level and time of the authentication are never read from there.
///
/// # Errors
/// Why the endpoint's answer cannot be used.
pub async fn complete(
    app: &App,
    connection: &Connection,
    entry: &Entry,
    verified: &mut Verified,
) -> Result<(), UserinfoError> {
    if !entry.lacks(&verified.claims) {
        return Ok(());
    }
    let known = app.providers.get(app, connection, Want::Kept).await;
    let known = known.map_err(|_| UserinfoError::Unreadable)?;
    let Some(endpoint) = &known.provider.userinfo_endpoint else { return Ok(()) };
    let token = verified.access_token.as_deref().ok_or(UserinfoError::Unreadable)?;
    let answer = app.fetcher.get_json_as(connection.destination(), endpoint, token, LARGEST).await;
    let answer = answer.map_err(|_| UserinfoError::Unreadable)?;
    let names = ["name", "preferred_username", &entry.subject_claim];
    Ok(add_userinfo(&mut verified.claims, &answer, &names)?)
}
