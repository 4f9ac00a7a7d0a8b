//! Lists of users and groups (RFC 7644 §3.4.2, RFC 9865): by index or by cursor, with a filter.
//!
//! Filters are evaluated here, not in SQL: the statements are always the same ones. A condition that an index answers
//! (`userName`, `externalId`, `id`, an address, a group's name or member) selects the candidates first; any other filter
//! reads all resources of the organization in batches, and such requests have a limit of their own. What would also read
//! all members of all groups is refused ([`narrowing`]).

mod groups;
mod narrowing;
mod users;

use porteiro_protocol::{
    scim::{Filter, Schema, matching, resource::Resource, schema::MOST_MEMBERS},
    time::OffsetDateTime,
};
use serde_json::Value;
use uuid::Uuid;

use super::{Call, represent::Projection, store::User};
use crate::{
    groups::Group,
    http::ScimError,
    limits::{self, Bucket},
};

/// The largest page.
pub(super) const MAX_COUNT: i64 = 200;
pub(super) const DEFAULT_COUNT: i64 = 100;
/// How many resources a filter reads at a time.
const BATCH: usize = 200;
/// How many users with one address a filter reads before it counts as one that reads all.
const MANY: i64 = 1_000;

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
    /// All, or those with an address.
    fn list_after(
        call: &Call,
        email: Option<&str>,
        after: Option<Position>,
        limit: i64,
    ) -> impl Future<Output = Result<Vec<Self>, ScimError>> + Send;
    /// All that can pass the filter.
    fn candidates(
        call: &Call,
        filter: &Filter,
    ) -> impl Future<Output = Result<Candidates<Self>, ScimError>> + Send;
    fn shown(
        call: &Call,
        page: &[Self],
        projection: &Projection,
    ) -> impl Future<Output = Result<Vec<Value>, ScimError>> + Send;
    /// As the filter sees them.
    fn resources(
        call: &Call,
        rows: &[Self],
        filter: &Filter,
    ) -> impl Future<Output = Result<Vec<Resource>, ScimError>> + Send;
}

/// Where the resources that pass a filter are found.
enum Candidates<L> {
    /// By an index, oldest first.
    Few(Vec<L>),
    WithEmail(String),
    All,
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
        (None, Paging::Cursor(after)) => (L::list_after(call, None, after, query.count + 1).await?, None),
        (Some(filter), paging) => {
            matching::check(&L::SCHEMA, filter)?;
            let mut window = Window::new(paging, query.count);
            match L::candidates(call, filter).await? {
                Candidates::Few(rows) => sift(call, rows, filter, &mut window).await?,
                Candidates::WithEmail(key) => scan(call, Some(&key), filter, &mut window).await?,
                Candidates::All => {
                    count_scan(call).await?;
                    scan(call, None, filter, &mut window).await?;
                }
            }
            window.finish()
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

/// The same in batches.
async fn sift<L: Listed>(
    call: &Call,
    rows: Vec<L>,
    filter: &Filter,
    window: &mut Window<L>,
) -> Result<(), ScimError> {
    let mut rows = rows.into_iter();
    loop {
        let batch: Vec<L> = rows.by_ref().take(BATCH).collect();
        if batch.is_empty() || window.is_full() {
            return Ok(());
        }
        window.take(passing(call, batch, filter).await?);
    }
}

/// Filters that read everything are few.
async fn count_scan(call: &Call) -> Result<(), ScimError> {
    let rule = limits::SCIM_SCAN;
    let key = call.app.secrets.limit_key(rule.name, call.organization.uuid().as_bytes());
    match limits::take(&call.app.store, &[Bucket { rule, key }]).await? {
        Some(limited) => Err(limited.into()),
        None => Ok(()),
    }
}

async fn scan<L: Listed>(
    call: &Call,
    email: Option<&str>,
    filter: &Filter,
    window: &mut Window<L>,
) -> Result<(), ScimError> {
    let mut after = match window.paging {
        Paging::Index(_) => None,
        Paging::Cursor(after) => after,
    };
    let mut read = 0;
    loop {
        let rows = L::list_after(call, email, after, i64::try_from(BATCH).unwrap_or(i64::MAX)).await?;
        let Some(last) = rows.last().map(Listed::position) else { return Ok(()) };
        after = Some(last);
        read += count_of(&rows);
        if email.is_some() && read == MANY {
            count_scan(call).await?;
        }
        window.take(passing(call, rows, filter).await?);
        if window.is_full() {
            return Ok(());
        }
    }
}
