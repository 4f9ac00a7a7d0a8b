//! Lists of users and groups (RFC 7644 §3.4.2, RFC 9865): by index or by cursor, with a filter.
//!
//! Filters are evaluated here, not in SQL: the statements are always the same ones. A condition that an index answers
//! (`userName`, `externalId`, `id`, an address, a group's name or member) selects the candidates first; any other filter
//! reads all resources of the organization in batches, and such requests have a limit of their own.

use porteiro_protocol::{
    id::{GroupId, MembershipId},
    scim::{
        Attr, Filter, Literal, Operator, Schema, matching,
        resource::Resource,
        schema::{GROUPS, USERS},
    },
    time::OffsetDateTime,
};
use serde_json::Value;
use uuid::Uuid;

use super::{
    Call, groups as group_cases,
    represent::{self, Projection},
    store::{self, User},
    users as user_cases,
};
use crate::{
    groups::{self, Group},
    http::ScimError,
    limits::{self, Bucket},
};

/// The largest page.
pub(super) const MAX_COUNT: i64 = 200;
pub(super) const DEFAULT_COUNT: i64 = 100;
/// How many resources a filter without an index reads at a time.
const BATCH: i64 = 200;
/// How many members the groups of one page may have together; a page with more has fewer groups.
const MOST_MEMBERS: i64 = 20_000;

/// The last resource of the previous page.
pub(super) type Position = (OffsetDateTime, Uuid);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paging {
    /// The number of the first resource, from 1.
    Index(i64),
    /// After this one; `None`: from the first.
    Cursor(Option<Position>),
}

#[derive(Debug)]
pub(super) struct Query {
    pub filter: Option<Filter>,
    pub paging: Paging,
    pub count: i64,
    pub projection: Projection,
}

#[derive(Debug)]
pub(super) struct Page {
    pub resources: Vec<Value>,
    /// With an index only: counting is what a cursor avoids.
    pub total: Option<i64>,
    pub next: Option<Position>,
}

/// What is listed.
trait Listed: Sized + Send + Sync {
    const SCHEMA: Schema;

    fn position(&self) -> Position;
    /// How much it adds to a page.
    fn weight(&self, projection: &Projection) -> i64;
    fn count(call: &Call) -> impl Future<Output = Result<i64, ScimError>> + Send;
    fn list_at(
        call: &Call,
        skip: i64,
        limit: i64,
    ) -> impl Future<Output = Result<Vec<Self>, ScimError>> + Send;
    fn list_after(
        call: &Call,
        after: Option<Position>,
        limit: i64,
    ) -> impl Future<Output = Result<Vec<Self>, ScimError>> + Send;
    /// All that can pass the filter, if an index finds them.
    fn narrowed(
        call: &Call,
        equal: &[(String, String)],
    ) -> impl Future<Output = Result<Option<Vec<Self>>, ScimError>> + Send;
    fn shown(
        call: &Call,
        page: &[Self],
        projection: &Projection,
    ) -> impl Future<Output = Result<Vec<Value>, ScimError>> + Send;
    /// As filters see them; with groups or members only if the filter names them.
    fn resources(
        call: &Call,
        rows: &[Self],
        filter: &Filter,
    ) -> impl Future<Output = Result<Vec<Resource>, ScimError>> + Send;
}

pub(super) async fn users(call: &Call, query: &Query) -> Result<Page, ScimError> {
    page::<User>(call, query).await
}

pub(super) async fn groups(call: &Call, query: &Query) -> Result<Page, ScimError> {
    page::<Group>(call, query).await
}

async fn page<L: Listed>(call: &Call, query: &Query) -> Result<Page, ScimError> {
    let (mut rows, total) = match (&query.filter, query.paging) {
        (None, Paging::Index(start)) => {
            let rows =
                if query.count == 0 { Vec::new() } else { L::list_at(call, start - 1, query.count).await? };
            (rows, Some(L::count(call).await?))
        }
        (None, Paging::Cursor(after)) => (L::list_after(call, after, query.count + 1).await?, None),
        (Some(filter), paging) => {
            matching::check(&L::SCHEMA, filter)?;
            let mut equal = Vec::new();
            equals(filter, "", &mut equal);
            match L::narrowed(call, &equal).await? {
                Some(candidates) => {
                    let mut window = Window::new(paging, query.count);
                    window.take(passing(call, candidates, filter).await?);
                    window.finish()
                }
                None => scan(call, filter, paging, query.count).await?,
            }
        }
    };
    let more = matches!(query.paging, Paging::Cursor(_)) && count_of(&rows) > query.count;
    rows.truncate(usize::try_from(query.count).unwrap_or_default());
    let cut = fit(&mut rows, &query.projection);
    let next = rows.last().filter(|_| more || cut).map(Listed::position);
    let next = next.filter(|_| matches!(query.paging, Paging::Cursor(_)));
    Ok(Page { resources: L::shown(call, &rows, &query.projection).await?, total, next })
}

fn count_of<T>(rows: &[T]) -> i64 {
    i64::try_from(rows.len()).unwrap_or(i64::MAX)
}

/// Leaves out what makes a page too heavy, but never its first resource. Whether something was left out.
fn fit<L: Listed>(rows: &mut Vec<L>, projection: &Projection) -> bool {
    let (mut sum, before) = (0, rows.len());
    let fits = rows.iter().take_while(|row| {
        sum += row.weight(projection);
        sum <= MOST_MEMBERS
    });
    let most = fits.count().max(1);
    rows.truncate(most);
    rows.len() < before
}

/// The resources of a page among those that pass, which arrive in order.
struct Window<L> {
    paging: Paging,
    count: i64,
    seen: i64,
    rows: Vec<L>,
}

impl<L: Listed> Window<L> {
    const fn new(paging: Paging, count: i64) -> Self {
        Self { paging, count, seen: 0, rows: Vec::new() }
    }

    fn take(&mut self, passing: Vec<L>) {
        for row in passing {
            self.seen += 1;
            let inside = match self.paging {
                Paging::Index(start) => self.seen >= start && count_of(&self.rows) < self.count,
                Paging::Cursor(after) => {
                    after.is_none_or(|after| row.position() > after) && count_of(&self.rows) <= self.count
                }
            };
            if inside {
                self.rows.push(row);
            }
        }
    }

    /// Whether nothing more is needed: by index, the total is.
    fn is_full(&self) -> bool {
        matches!(self.paging, Paging::Cursor(_)) && count_of(&self.rows) > self.count
    }

    fn finish(self) -> (Vec<L>, Option<i64>) {
        let total = matches!(self.paging, Paging::Index(_)).then_some(self.seen);
        (self.rows, total)
    }
}

async fn passing<L: Listed>(call: &Call, rows: Vec<L>, filter: &Filter) -> Result<Vec<L>, ScimError> {
    let resources = L::resources(call, &rows, filter).await?;
    let passes =
        |(row, resource): (L, Resource)| matching::matches(&L::SCHEMA, filter, &resource).then_some(row);
    Ok(rows.into_iter().zip(resources).filter_map(passes).collect())
}

async fn scan<L: Listed>(
    call: &Call,
    filter: &Filter,
    paging: Paging,
    count: i64,
) -> Result<(Vec<L>, Option<i64>), ScimError> {
    let rule = limits::SCIM_SCAN;
    let key = call.app.secrets.limit_key(rule.name, call.organization.uuid().as_bytes());
    if let Some(limited) = limits::take(&call.app.store, &[Bucket { rule, key }]).await? {
        return Err(limited.into());
    }
    let mut window = Window::new(paging, count);
    let mut after = match paging {
        Paging::Index(_) => None,
        Paging::Cursor(after) => after,
    };
    loop {
        let rows = L::list_after(call, after, BATCH).await?;
        let Some(last) = rows.last().map(Listed::position) else { break };
        after = Some(last);
        window.take(passing(call, rows, filter).await?);
        if window.is_full() {
            break;
        }
    }
    Ok(window.finish())
}

/// The equalities that all must hold: names in lower case, and texts.
fn equals(filter: &Filter, inside: &str, found: &mut Vec<(String, String)>) {
    match filter {
        Filter::And(parts) => parts.iter().for_each(|part| equals(part, inside, found)),
        Filter::Values(attr, inner) => equals(inner, &attr.name.to_lowercase(), found),
        Filter::Compare(one) if one.operator == Operator::Eq => {
            if let Literal::Text(text) = &one.literal {
                let own = [Some(&one.attr.name), one.attr.sub.as_ref()];
                let names = own.into_iter().flatten().map(|name| name.to_lowercase());
                let inside = (!inside.is_empty()).then(|| inside.to_owned());
                let name = inside.into_iter().chain(names).collect::<Vec<_>>().join(".");
                found.push((name, text.clone()));
            }
        }
        Filter::Compare(_) | Filter::Or(_) | Filter::Not(_) | Filter::Present(_) => {}
    }
}

fn value<'a>(equal: &'a [(String, String)], names: &[&str]) -> Option<&'a str> {
    equal.iter().find(|(name, _)| names.contains(&name.as_str())).map(|(_, text)| text.as_str())
}

fn mentions(filter: &Filter, name: &str) -> bool {
    let named = |attr: &Attr| attr.name.eq_ignore_ascii_case(name);
    match filter {
        Filter::And(parts) | Filter::Or(parts) => parts.iter().any(|part| mentions(part, name)),
        Filter::Not(inner) => mentions(inner, name),
        Filter::Compare(one) => named(&one.attr),
        Filter::Present(attr) | Filter::Values(attr, _) => named(attr),
    }
}

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

    async fn list_after(call: &Call, after: Option<Position>, limit: i64) -> Result<Vec<Self>, ScimError> {
        Ok(store::list_after(&call.app.store, call.organization, after, limit).await?)
    }

    async fn narrowed(call: &Call, equal: &[(String, String)]) -> Result<Option<Vec<Self>>, ScimError> {
        let (reader, place) = (&call.app.store, call.organization);
        let one = |user: Option<Self>| Ok(Some(user.into_iter().collect()));
        if let Some(text) = value(equal, &["id"]) {
            let Ok(id) = text.parse::<MembershipId>() else { return Ok(Some(Vec::new())) };
            return one(store::find(reader, place, id).await?);
        }
        if let Some(text) = value(equal, &["username"]) {
            return one(store::by_user_name(reader, place, &text.to_lowercase()).await?);
        }
        if let Some(text) = value(equal, &["externalid"]) {
            return one(store::by_external_id(reader, place, text).await?);
        }
        match value(equal, &["emails", "emails.value"]) {
            Some(text) => Ok(Some(store::by_email(reader, place, &text.to_lowercase()).await?)),
            None => Ok(None),
        }
    }

    async fn shown(call: &Call, page: &[Self], projection: &Projection) -> Result<Vec<Value>, ScimError> {
        user_cases::shown(call, page, projection).await
    }

    async fn resources(call: &Call, rows: &[Self], filter: &Filter) -> Result<Vec<Resource>, ScimError> {
        let belongings = if mentions(filter, "groups") {
            let ids: Vec<MembershipId> = rows.iter().map(|user| user.id).collect();
            groups::of_members(&call.app.store, call.organization, &ids).await?
        } else {
            Vec::new()
        };
        let base = call.base();
        Ok(rows.iter().map(|user| represent::user(&base, user, &belongings)).collect())
    }
}

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

    async fn list_after(call: &Call, after: Option<Position>, limit: i64) -> Result<Vec<Self>, ScimError> {
        let after = after.map(|(at, id)| (at, GroupId::from(id)));
        Ok(groups::list(&call.app.store, call.organization, after, limit).await?)
    }

    async fn narrowed(call: &Call, equal: &[(String, String)]) -> Result<Option<Vec<Self>>, ScimError> {
        let (reader, place) = (&call.app.store, call.organization);
        let one = |group: Option<Self>| Ok(Some(group.into_iter().collect()));
        if let Some(text) = value(equal, &["id"]) {
            let Ok(id) = text.parse::<GroupId>() else { return Ok(Some(Vec::new())) };
            return one(groups::find(reader, place, id).await?);
        }
        if let Some(text) = value(equal, &["displayname"]) {
            return one(groups::find_named(reader, place, &text.to_lowercase()).await?);
        }
        if let Some(text) = value(equal, &["externalid"]) {
            return one(groups::find_external(reader, place, text).await?);
        }
        let Some(text) = value(equal, &["members", "members.value"]) else { return Ok(None) };
        let Ok(id) = text.parse::<MembershipId>() else { return Ok(Some(Vec::new())) };
        let mut found = Vec::new();
        for one in groups::of_members(reader, place, &[id]).await? {
            found.extend(groups::find(reader, place, one.group).await?);
        }
        found.sort_by_key(Listed::position);
        Ok(Some(found))
    }

    async fn shown(call: &Call, page: &[Self], projection: &Projection) -> Result<Vec<Value>, ScimError> {
        group_cases::shown(call, page, projection).await
    }

    async fn resources(call: &Call, rows: &[Self], filter: &Filter) -> Result<Vec<Resource>, ScimError> {
        let members = if mentions(filter, "members") {
            let ids: Vec<GroupId> = rows.iter().map(|group| group.id).collect();
            groups::members(&call.app.store, call.organization, &ids).await?
        } else {
            Vec::new()
        };
        let base = call.base();
        Ok(rows.iter().map(|group| represent::group(&base, group, &members)).collect())
    }
}
