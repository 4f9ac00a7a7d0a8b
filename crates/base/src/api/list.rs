//! Lists (docs/decisions/0040): `?limit=25&cursor=…`, in the order `created_at, id`, which no change of a row disturbs.
//!
//! A cursor is the position after the last item, signed together with the path and the filters, and valid only for these. It
//! grants nothing, and works for as long as the caller may read the list.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, OriginalUri},
    http::{HeaderValue, header, request::Parts},
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::time::OffsetDateTime;
use serde::Serialize;
use serde_json::json;

use super::query::Query;
use crate::{
    Core,
    http::{Problem, ProblemCode},
};

pub const DEFAULT_LIMIT: usize = 25;
pub const MAX_LIMIT: usize = 100;
const MAC: usize = 16;

/// The caller's position in a list, and the query. Read [`Listing::rows`] rows after [`Listing::after`], and pass them
/// to [`Listing::page`].
#[derive(Debug)]
pub struct Listing {
    pub limit: usize,
    /// `created_at` and id of the last item on the previous page.
    pub after: Option<(OffsetDateTime, String)>,
    pub query: Query,
    core: Arc<Core>,
    path: String,
}

impl<A: AsRef<Arc<Core>> + Send + Sync> FromRequestParts<Arc<A>> for Listing {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<A>) -> Result<Self, Problem> {
        let query = Query::from_request_parts(parts, app).await?;
        let path = parts.extensions.get::<OriginalUri>().map_or(&parts.uri, |uri| &uri.0).path().to_owned();
        let malformed = |text: &str| Problem::new(ProblemCode::Malformed, text);
        let limit = match query.get("limit") {
            None => DEFAULT_LIMIT,
            Some(text) => text
                .parse()
                .ok()
                .filter(|limit| (1..=MAX_LIMIT).contains(limit))
                .ok_or_else(|| malformed("limit must be a number from 1 to 100"))?,
        };
        let core = Arc::clone((**app).as_ref());
        let mut listing = Self { limit, after: None, core, path, query };
        if let Some(cursor) = listing.query.get("cursor") {
            let after = listing.open(cursor);
            listing.after = Some(
                after.ok_or_else(|| malformed("cursor does not belong to this list with these filters"))?,
            );
        }
        Ok(listing)
    }
}

impl Listing {
    /// The number of rows to read: one more than is shown tells whether there are more.
    pub fn rows(&self) -> i64 {
        i64::try_from(self.limit).unwrap_or(i64::MAX - 1) + 1
    }

    /// The `created_at` to compare with: `WHERE (created_at, id) > ($n, $m)`; `None` on the first page.
    pub fn after_time(&self) -> Option<OffsetDateTime> {
        self.after.as_ref().map(|(at, _)| *at)
    }

    /// The id to compare with, parsed; `None` on the first page.
    ///
    /// # Errors
    /// When it is malformed, which only a cursor of another version of this service can be: 400.
    pub fn after_id<T: std::str::FromStr>(&self) -> Result<Option<T>, Problem> {
        let parse = |id: &String| id.parse().map_err(|_| ProblemCode::Malformed.into());
        self.after.as_ref().map(|(_, id)| parse(id)).transpose()
    }

    /// Both together.
    ///
    /// # Errors
    /// As [`Self::after_id`].
    pub fn position<T: std::str::FromStr>(&self) -> Result<Option<(OffsetDateTime, T)>, Problem> {
        Ok(self.after_time().zip(self.after_id()?))
    }

    fn mac(&self, place: &[u8]) -> [u8; MAC] {
        let filters = serde_json::to_vec(&self.query.filters()).unwrap_or_default();
        let mac = self.core.secrets.cursor_mac(&[self.path.as_bytes(), &filters, place]);
        let mut short = [0; MAC];
        short.copy_from_slice(&mac[..MAC]);
        short
    }

    fn seal(&self, at: OffsetDateTime, id: &str) -> String {
        let micros = i64::try_from(at.unix_timestamp_nanos() / 1_000).unwrap_or_default();
        let place = [micros.to_be_bytes().as_slice(), id.as_bytes()].concat();
        URL_SAFE_NO_PAD.encode([self.mac(&place).as_slice(), &place].concat())
    }

    fn open(&self, cursor: &str) -> Option<(OffsetDateTime, String)> {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let (mac, place) = bytes.split_at_checked(MAC)?;
        if !bool::from(subtle::ConstantTimeEq::ct_eq(mac, self.mac(place).as_slice())) {
            return None;
        }
        let (micros, id) = place.split_first_chunk::<8>()?;
        let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(i64::from_be_bytes(*micros)) * 1_000);
        Some((at.ok()?, String::from_utf8(id.to_vec()).ok()?))
    }

    /// The page, from up to [`Listing::rows`] rows. `key`: a row's `created_at` and id; `show`: its representation.
    pub fn page<R, T: Serialize>(
        &self,
        mut rows: Vec<R>,
        key: impl Fn(&R) -> (OffsetDateTime, String),
        show: impl Fn(R) -> T,
    ) -> Response {
        let more = rows.len() > self.limit;
        rows.truncate(self.limit);
        let cursor = rows.last().filter(|_| more).map(|row| {
            let (at, id) = key(row);
            self.seal(at, &id)
        });
        let link = cursor.as_deref().map(|cursor| self.link(cursor));
        let items: Vec<T> = rows.into_iter().map(show).collect();
        let mut response = axum::Json(json!({"items": items, "next_cursor": cursor})).into_response();
        if let Some(link) = link.and_then(|link| HeaderValue::from_str(&link).ok()) {
            response.headers_mut().insert(header::LINK, link);
        }
        response
    }

    /// RFC 8288: a link to the next page.
    fn link(&self, cursor: &str) -> String {
        let mut pairs = url::form_urlencoded::Serializer::new(String::new());
        pairs.extend_pairs(self.query.filters());
        pairs.append_pair("limit", &self.limit.to_string()).append_pair("cursor", cursor);
        format!("<{}{}?{}>; rel=\"next\"", self.core.issuer(), self.path, pairs.finish())
    }
}
