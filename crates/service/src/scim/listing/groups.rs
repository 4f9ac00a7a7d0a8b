use porteiro_protocol::{
    id::{GroupId, MembershipId},
    scim::{Filter, Schema, resource::Resource, schema::GROUPS},
};
use serde_json::Value;

use super::{
    super::{
        Call, groups as cases,
        represent::{self, Projection},
    },
    Candidates, Listed, Position,
    narrowing::{equals, members_asked, value},
};
use crate::{
    groups::{self, Group},
    http::ScimError,
};

impl Listed for Group {
    const SCHEMA: Schema = GROUPS;

    fn position(&self) -> Position {
        (self.created_at, self.id.uuid())
    }

    fn weight(&self, projection: &Projection) -> i64 {
        if projection.shows("members") { self.size } else { 0 }
    }

    async fn count(call: &Call) -> Result<i64, ScimError> {
        Ok(groups::count(&call.app.store, call.organization).await?)
    }

    async fn list_at(call: &Call, skip: i64, limit: i64) -> Result<Vec<Self>, ScimError> {
        Ok(groups::list_at(&call.app.store, call.organization, skip, limit).await?)
    }

    async fn list_after(
        call: &Call,
        _: Option<&str>,
        after: Option<Position>,
        limit: i64,
    ) -> Result<Vec<Self>, ScimError> {
        let after = after.map(|(at, id)| (at, GroupId::from(id)));
        Ok(groups::list(&call.app.store, call.organization, after, limit).await?)
    }

    async fn candidates(call: &Call, filter: &Filter) -> Result<Candidates<Self>, ScimError> {
        members_asked(filter)?;
        let (reader, place, equal) = (&call.app.store, call.organization, equals(filter));
        let few = |group: Option<Self>| Ok(Candidates::Few(group.into_iter().collect()));
        if let Some(text) = value(&equal, &["id"]) {
            let Ok(id) = text.parse::<GroupId>() else { return few(None) };
            return few(groups::find(reader, place, id).await?);
        }
        if let Some(text) = value(&equal, &["displayname"]) {
            return few(groups::find_named(reader, place, &text.to_lowercase()).await?);
        }
        if let Some(text) = value(&equal, &["externalid"]) {
            return few(groups::find_external(reader, place, text).await?);
        }
        let Some(text) = value(&equal, &["members", "members.value"]) else { return Ok(Candidates::All) };
        let Ok(id) = text.parse::<MembershipId>() else { return few(None) };
        Ok(Candidates::Few(groups::of_member(reader, place, id).await?))
    }

    async fn shown(call: &Call, page: &[Self], projection: &Projection) -> Result<Vec<Value>, ScimError> {
        cases::shown(call, page, projection).await
    }

    /// Of the members, only those whom the filter asks for.
    async fn resources(call: &Call, rows: &[Self], filter: &Filter) -> Result<Vec<Resource>, ScimError> {
        let asked = members_asked(filter)?;
        let members = if asked.is_empty() {
            Vec::new()
        } else {
            let ids: Vec<GroupId> = rows.iter().map(|group| group.id).collect();
            groups::among(&call.app.store, call.organization, &ids, &asked).await?
        };
        let (base, members) = (call.base(), represent::by(&members, |one| one.group));
        let of = |group: &Self| members.get(&group.id).map_or(&[][..], Vec::as_slice);
        Ok(rows.iter().map(|group| represent::group(&base, group, of(group))).collect())
    }
}
