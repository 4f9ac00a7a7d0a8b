//! The step of a flow in which a person enters the user code.

use std::net::IpAddr;

use porteiro_protocol::{id::Id, user_code::UserCode};
use serde_json::Value;

use super::{DevicePurpose, continued, row, store};
use crate::{
    flow::{
        Continuation,
        step::{Effect, Step, Stopped, text},
    },
    limits::network,
    oauth::authorization::{self, Asking},
};

/// One error for a code that is unknown, expired, decided, or claimed by another person.
fn unknown() -> Stopped {
    let detail = "is not waiting for confirmation; get a new one from the device".into();
    Stopped::Invalid { field: "user_code", detail }
}

pub(super) async fn look(step: &Step<'_>, input: &Value) -> Result<Effect, Stopped> {
    let app = step.app;
    let code = UserCode::parse(text(input, "user_code")?).ok_or_else(unknown)?;
    let account = step.state.account().map(Id::uuid).ok_or_else(unknown)?;
    let id = row(&app.secrets, &code);
    let found = store::find(&app.store, id, account).await?.ok_or_else(unknown)?;
    let there: Option<IpAddr> = found.from.address.parse().ok();
    let asking = Asking {
        id,
        user_code: code.to_string(),
        same_network: there.is_some_and(|there| network(there) == network(step.context.address)),
        address: found.from.address,
        user_agent: found.from.user_agent,
        at: found.created_at,
    };
    let continued = continued(found.request, asking);
    // A request that would be refused in the end is not shown: its client may be gone, or may no longer request this.
    let prepared = authorization::prepare(app, &app.store, &continued).await?.map_err(|_| unknown())?;
    let continuation = Box::new(Continuation::new(DevicePurpose::NAME, &continued)?);
    Ok(Effect::Found { level: prepared.level, continuation, code: code.to_string() })
}
