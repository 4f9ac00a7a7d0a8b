use porteiro_protocol::{
    id::MembershipId,
    scim::{Filter, Schema, resource::Resource, schema::USERS},
};
use serde_json::Value;

use super::{
    super::{
        Call,
        represent::{self, Projection},
        store::{self, User},
        users,
    },
    Candidates, Listed, Position,
    narrowing::{equals, value, without_groups},
};
use crate::http::ScimError;

impl Listed for User {
    const SCHEMA: Schema = USERS;

    fn position(&self) -> Position {
        (self.created_at, self.id.uuid())
    }

    fn weight(&self, _: &Projection) -> i64 {
        0
    }

    async fn count(call: &Call) -> Result<i64, ScimError> {
        Ok(store::count(&call.app.store, call.organization).await?)
    }

    async fn list_at(call: &Call, skip: i64, limit: i64) -> Result<Vec<Self>, ScimError> {
        Ok(store::list_at(&call.app.store, call.organization, skip, limit).await?)
    }

    async fn list_after(
        call: &Call,
        email: Option<&str>,
        after: Option<Position>,
        limit: i64,
    ) -> Result<Vec<Self>, ScimError> {
        let (reader, place) = (&call.app.store, call.organization);
        Ok(match email {
            None => store::list_after(reader, place, after, limit).await?,
            Some(key) => store::by_email(reader, place, key, after, limit).await?,
        })
    }

    async fn candidates(call: &Call, filter: &Filter) -> Result<Candidates<Self>, ScimError> {
        without_groups(filter)?;
        let (reader, place, equal) = (&call.app.store, call.organization, equals(filter));
        let few = |user: Option<Self>| Ok(Candidates::Few(user.into_iter().collect()));
        if let Some(text) = value(&equal, &["id"]) {
            let Ok(id) = text.parse::<MembershipId>() else { return few(None) };
            return few(store::find(reader, place, id).await?);
        }
        if let Some(text) = value(&equal, &["username"]) {
            return few(store::by_user_name(reader, place, &text.to_lowercase()).await?);
        }
        if let Some(text) = value(&equal, &["externalid"]) {
            return few(store::by_external_id(reader, place, text).await?);
        }
        let email = value(&equal, &["emails", "emails.value"]);
        Ok(email.map_or(Candidates::All, |text| Candidates::WithEmail(text.to_lowercase())))
    }

    async fn shown(call: &Call, page: &[Self], projection: &Projection) -> Result<Vec<Value>, ScimError> {
        users::shown(call, page, projection).await
    }

    async fn resources(call: &Call, rows: &[Self], _: &Filter) -> Result<Vec<Resource>, ScimError> {
        let base = call.base();
        Ok(rows.iter().map(|user| represent::user(&base, user, &[])).collect())
    }
}
