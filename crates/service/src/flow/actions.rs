//! The engine's own actions, and the lookup of an action's handler. Actions of credentials and purposes are in their
//! folders.

use porteiro_protocol::plain_text;
use serde_json::Value;

use super::{
    directory, discovery,
    purpose::{Looking, Purpose},
    step::{Effect, Step, Stopped, text},
};
pub use crate::credentials::Action;
use crate::{
    credentials::{self, Definition, KINDS, field},
    directories::Discovered,
    limits::STEP_ADDRESS,
};

/// The handler of an action that does not concern a credential.
pub type Run = for<'a> fn(&'a Step<'a>, &'a Value) -> Looking<'a>;

pub const BACK: Action =
    Action::new(&Definition { path: "flow/back", rank: 100, fields: &[], limits: &[STEP_ADDRESS] });
pub const PROFILE: Action = Action::new(&Definition {
    path: "profile/set",
    rank: 101,
    fields: &[field("display_name", "text", "name")],
    limits: &[STEP_ADDRESS],
});
pub const ENROL_SKIP: Action =
    Action::new(&Definition { path: "enrol/skip", rank: 102, fields: &[], limits: &[STEP_ADDRESS] });
pub const RECOVERY_HOLD: Action =
    Action::new(&Definition { path: "recovery/hold", rank: 200, fields: &[], limits: &[STEP_ADDRESS] });
pub const ACCOUNT_CONFIRM: Action =
    Action::new(&Definition { path: "account/confirm", rank: 201, fields: &[], limits: &[STEP_ADDRESS] });
pub const ACCOUNT_SWITCH: Action =
    Action::new(&Definition { path: "account/switch", rank: 202, fields: &[], limits: &[STEP_ADDRESS] });
pub const ORGANIZATION_CHOOSE: Action = Action::new(&Definition {
    path: "organization/choose",
    rank: 203,
    fields: &[field("organization", "text", "off")],
    limits: &[STEP_ADDRESS],
});
pub const ORGANIZATION_REMEMBERED: Action = Action::new(&Definition {
    path: "organization/remembered",
    rank: 204,
    fields: &[],
    limits: &[STEP_ADDRESS],
});
pub const CLAIM_NEW: Action =
    Action::new(&Definition { path: "claim/new", rank: 210, fields: &[], limits: &[STEP_ADDRESS] });
pub const CLAIM_EXISTING: Action =
    Action::new(&Definition { path: "claim/existing", rank: 211, fields: &[], limits: &[STEP_ADDRESS] });
pub const CLAIM_ATTACH: Action =
    Action::new(&Definition { path: "claim/attach", rank: 212, fields: &[], limits: &[STEP_ADDRESS] });
pub const CONSENT_ALLOW: Action =
    Action::new(&Definition { path: "consent/allow", rank: 220, fields: &[], limits: &[STEP_ADDRESS] });
pub const CONSENT_DENY: Action =
    Action::new(&Definition { path: "consent/deny", rank: 221, fields: &[], limits: &[STEP_ADDRESS] });

const OWN: &[(Action, Run)] = &[
    (BACK, |_, _| Box::pin(async { Ok(Effect::Back) })),
    (PROFILE, |_, input| Box::pin(async move { profile(input) })),
    (ENROL_SKIP, |_, _| Box::pin(async { Ok(Effect::Skip) })),
    (RECOVERY_HOLD, |_, _| Box::pin(async { Ok(Effect::Hold) })),
    (ACCOUNT_CONFIRM, |_, _| Box::pin(async { Ok(Effect::Confirm) })),
    (ACCOUNT_SWITCH, |_, _| Box::pin(async { Ok(Effect::Switch) })),
    (ORGANIZATION_CHOOSE, |step, input| Box::pin(async move { organization(step, input) })),
    (ORGANIZATION_REMEMBERED, |step, _| Box::pin(async { remembered(step) })),
    (CLAIM_NEW, |_, _| Box::pin(async { Ok(directory::Effect::NewAccount.into()) })),
    (CLAIM_EXISTING, |_, _| Box::pin(async { Ok(directory::Effect::HasAccount.into()) })),
    (CLAIM_ATTACH, |_, _| Box::pin(async { Ok(directory::Effect::Attach.into()) })),
    (CONSENT_ALLOW, |_, _| Box::pin(async { Ok(Effect::Allow) })),
    (CONSENT_DENY, |_, _| Box::pin(async { Ok(Effect::Deny) })),
];

/// All actions, in the order in which they are offered.
pub fn all(purposes: &[&'static dyn Purpose]) -> Vec<Action> {
    let credentials = KINDS.iter().flat_map(|info| info.actions).map(|(action, _)| *action);
    let own = OWN.iter().map(|(action, _)| *action);
    let openings = purposes.iter().filter_map(|purpose| purpose.opening());
    let openings = openings.flat_map(|opening| opening.actions).map(|(action, _)| *action);
    let mut all: Vec<Action> = credentials.chain(own).chain(openings).collect();
    all.sort();
    all
}

/// Runs the handler of an action.
pub(super) async fn run(step: &Step<'_>, action: Action, input: &Value) -> Result<Effect, Stopped> {
    let openings = step.facts.opening.map_or(&[][..], |opening| opening.actions);
    if let Some((_, run)) = OWN.iter().chain(openings).find(|(known, _)| *known == action) {
        return run(step, input).await;
    }
    let discovered = discovery::discovered(step, action, input).await?;
    if let Some(Discovered { organization, publicly: true }) = discovered {
        return Ok(Effect::Choose { organization });
    }
    if let Some(effect) = discovery::led(step, action, input).await? {
        return Ok(effect);
    }
    if let Some(place) = step.facts.directory
        && let Some(run) = directory::handler(action)
    {
        return run(step, input, place).await;
    }
    let mut handlers = KINDS.iter().flat_map(|info| info.actions);
    match handlers.find(|(known, _)| *known == action) {
        Some((_, run)) => {
            let credential =
                credentials::Step { has_directory: discovered.is_some(), ..step.of_credential() };
            let effect = run(&credential, input).await?;
            Ok(Effect::Credential(Box::new(effect)))
        }
        None => Err(Stopped::Internal("an action nobody looks at".into())),
    }
}

/// The organization whose connection the browser remembers.
fn remembered(step: &Step<'_>) -> Result<Effect, Stopped> {
    let remembered = step.facts.remembered.as_ref().map(|(organization, _)| *organization);
    let organization = remembered.ok_or_else(|| Stopped::Internal("nothing is remembered".into()))?;
    Ok(Effect::Choose { organization })
}

/// One of the offered organizations, by id or slug.
fn organization(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    let text = text(input, "organization")?;
    let choices = step.facts.standing.as_ref().map(|standing| standing.choices.as_slice());
    let mut choices = choices.unwrap_or_default().iter();
    let chosen = choices.find(|choice| {
        choice.unavailable.is_none() && (choice.slug == text || choice.id.to_string() == text)
    });
    let chosen = chosen.ok_or_else(|| Stopped::Invalid {
        field: "organization",
        detail: "is not one of the offered values".into(),
    })?;
    Ok(Effect::Choose { organization: chosen.id })
}

/// A display name: visible characters only, of limited length.
fn profile(input: &Value) -> Result<Effect, Stopped> {
    let name = plain_text::name(text(input, "display_name")?, 100);
    let name = name.ok_or_else(|| Stopped::Invalid {
        field: "display_name",
        detail: "must have 1 to 100 printable characters".into(),
    })?;
    Ok(Effect::Profile { display_name: name.to_owned() })
}
