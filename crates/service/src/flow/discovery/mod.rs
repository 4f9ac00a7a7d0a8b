//! Home-realm discovery (docs/decisions/0133): an address at a domain that an organization verified leads to its
//! connections. If the organization wants that, everybody who types it is led there; otherwise only the person who reads its
//! mail. Only the domain is read: the answer does not depend on who has the address.

mod remembered;

use porteiro_protocol::{address::EmailAddress, assurance::Method};
use serde_json::Value;

pub use remembered::Remembered;
pub(super) use remembered::{first, offered};

use super::{
    actions::Action,
    state::{Kind, State, Transport},
    step::{Effect, Step, Stopped},
};
use crate::{
    credentials::{email, refused},
    directories::{self, Discovered},
};

/// The organization that the typed address leads to, before anything else is done with it.
pub(super) async fn discovered(
    step: &Step<'_>,
    action: Action,
    input: &Value,
) -> Result<Option<Discovered>, Stopped> {
    let types = action.fields().iter().any(|field| field.name == "identifier");
    if !types || !discovers(step) {
        return Ok(None);
    }
    let address = input["identifier"].as_str().and_then(|text| EmailAddress::parse(text).ok());
    let Some(address) = address else { return Ok(None) };
    Ok(directories::discover(&step.app.store, address.domain()).await?)
}

/// Where an opened link of a mail leads, if it is the link to an organization's connections. It proves nothing: everybody who
/// knows the organization may use its connections.
pub(super) async fn led(step: &Step<'_>, action: Action, input: &Value) -> Result<Option<Effect>, Stopped> {
    if action != email::REDEEM {
        return Ok(None);
    }
    let credential = step.of_credential();
    let Some((challenge, domain)) = email::leading(&credential, input) else { return Ok(None) };
    let found = if discovers(step) { directories::discover(&step.app.store, &domain).await? } else { None };
    let nowhere = || refused(Method::Email, "the domain of the address leads to no connection any more");
    let organization = found.ok_or_else(nowhere)?.organization;
    Ok(Some(Effect::Lead { organization, challenge }))
}

/// Whether the request could be for an organization that nobody named, and its connections can be used.
fn discovers(step: &Step<'_>) -> bool {
    let has_page = match step.state.transport {
        Transport::Browser => step.app.checked.settings.federation_page_path.is_some(),
        Transport::Api => false,
    };
    let signs_in = match step.state.kind {
        Kind::SignIn | Kind::Purpose(_) => step.state.account().is_none(),
        Kind::Register | Kind::Recover | Kind::Reauthenticate | Kind::Enrol => false,
    };
    let discovers = step.facts.standing.as_ref().is_some_and(|standing| standing.discovers);
    has_page && signs_in && discovers && step.state.claim.is_none()
}

/// Whether an address led to the organization of the request: before the person is known, nothing else chooses one.
pub(super) fn was_discovered(state: &State) -> bool {
    let chosen = state.continuation.as_ref().and_then(|continued| continued.organization);
    chosen.is_some() && state.account().is_none()
}
