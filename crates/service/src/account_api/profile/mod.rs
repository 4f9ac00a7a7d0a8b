//! A person changes the name and the language of their account.
//!
//! No recent proof is required: neither lets anyone in, and the change is in the log. Names in organizations belong to
//! those and stay.

mod endpoint;

use std::sync::Arc;

use porteiro_protocol::plain_text;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::turn;
use crate::{
    App,
    accounts::{self, Account, AccountState},
    api::Patch,
    http::{Problem, ProblemCode, RequestContext, TxProblem},
    mail::templates::Locale,
    security_log::{self, EventKind},
    sessions::SignedIn,
};

pub use endpoint::routes;

/// The longest name, as at registration.
const LONGEST_NAME: usize = 100;

/// What a person changes of the account itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AccountProfile")]
struct Profile {
    /// 1 to 100 printable characters.
    display_name: String,
    /// `en` or `pt-BR`: the language of mails, and of pages unless another is chosen there.
    locale: String,
}

impl From<&Account> for Profile {
    fn from(account: &Account) -> Self {
        Self { display_name: account.display_name.clone(), locale: account.locale.clone() }
    }
}

impl Profile {
    /// The names of the members that differ.
    fn changed(&self, before: &Self) -> Vec<&'static str> {
        let name = (self.display_name != before.display_name).then_some("display_name");
        let locale = (self.locale != before.locale).then_some("locale");
        name.into_iter().chain(locale).collect()
    }

    fn checked(self, before: &Self) -> Result<Self, Problem> {
        let name = plain_text::name(&self.display_name, LONGEST_NAME).ok_or_else(|| {
            Problem::new(ProblemCode::FieldInvalid, "display_name must have 1 to 100 printable characters")
        })?;
        let known = Locale::ALL.iter().any(|locale| locale.as_str() == self.locale);
        if !known && self.locale != before.locale {
            return Err(Problem::new(ProblemCode::FieldInvalid, "locale must be en or pt-BR"));
        }
        Ok(Self { display_name: name.to_owned(), locale: self.locale })
    }
}

async fn update(
    app: &Arc<App>,
    context: &RequestContext,
    me: &SignedIn,
    patch: &Patch<Profile>,
) -> Result<Account, TxProblem> {
    app.store
        .try_tx_in_turn(turn(me), "account.update", |tx| async move {
            accounts::lock(&tx, me.account_id).await?;
            let account = accounts::find(&tx, me.account_id).await?.ok_or(ProblemCode::NotFound)?;
            // The account may have been erased while this waited.
            if account.state != AccountState::Active {
                return Err(ProblemCode::Unauthenticated.into());
            }
            let before = Profile::from(&account);
            let after = patch.apply(&before)?.checked(&before)?;
            let members = after.changed(&before);
            if members.is_empty() {
                return Ok(account);
            }
            accounts::set_profile(&tx, me.account_id, &after.display_name, &after.locale).await?;
            let event = security_log::Event {
                kind: EventKind::AccountChanged,
                subject: me.account_id.uuid(),
                payload: json!({"members": members}),
            };
            security_log::record(app, &tx, context, event).await?;
            Ok(Account { display_name: after.display_name, locale: after.locale, ..account })
        })
        .await
}
