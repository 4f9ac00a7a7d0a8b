//! The parameters of lists and projections: in the query, or in the body of `.search` (RFC 7644 §3.4).

use axum::{http::StatusCode, response::Response};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::{
    form::Parameters,
    scim::{Attr, ErrorKind, Filter, Invalid, resource::schema_member},
    time::OffsetDateTime,
};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    super::{
        Call,
        listing::{DEFAULT_COUNT, MAX_COUNT, Page, Paging, Position, Query},
        represent::Projection,
    },
    door::document,
};
use crate::http::ScimError;

const MAC: usize = 16;
/// The largest number of names in `attributes` or `excludedAttributes`.
const MOST_NAMES: usize = 100;

fn invalid(detail: &str) -> Invalid {
    Invalid::new(ErrorKind::InvalidValue, detail)
}

/// The query of a request as a JSON object, as `.search` has it.
pub(super) fn sent(query: &str) -> Result<Map<String, Value>, ScimError> {
    let sent = Parameters::parse(query.as_bytes()).map_err(|error| invalid(&error.to_string()))?;
    let value = |name: &str| sent.get(name).unwrap_or_default().to_owned();
    Ok(sent.names().map(|name| (name.to_owned(), value(name).into())).collect())
}

/// `attributes` and `excludedAttributes`.
pub(super) fn projection(sent: &Map<String, Value>) -> Result<Projection, ScimError> {
    let only = names(sent, "attributes")?;
    let without = names(sent, "excludedAttributes")?;
    if !only.is_empty() && !without.is_empty() {
        return Err(invalid("send attributes or excludedAttributes, not both").into());
    }
    Ok(Projection { only, without })
}

/// Names that are no names are no attributes either. Case makes no difference, and a name counts once.
fn names(sent: &Map<String, Value>, name: &str) -> Result<Vec<Attr>, ScimError> {
    let text = match schema_member(sent, name) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
        Some(_) => return Err(invalid("attributes must be names").into()),
    };
    if text.split(',').count() > MOST_NAMES {
        return Err(invalid(&format!("{name} has at most {MOST_NAMES} names")).into());
    }
    let mut found = Vec::new();
    for attr in text.split(',').filter_map(|name| Attr::parse(&name.trim().to_ascii_lowercase())) {
        if !found.contains(&attr) {
            found.push(attr);
        }
    }
    Ok(found)
}

fn number(sent: &Map<String, Value>, name: &str, usual: i64) -> Result<i64, ScimError> {
    let wrong = || invalid(&format!("{name} must be a whole number")).into();
    match schema_member(sent, name) {
        None | Some(Value::Null) => Ok(usual),
        Some(Value::Number(number)) => number.as_i64().ok_or_else(wrong),
        Some(Value::String(text)) => text.parse().map_err(|_| wrong()),
        Some(_) => Err(wrong()),
    }
}

pub(super) fn read(call: &Call, list: &str, sent: &Map<String, Value>) -> Result<Query, ScimError> {
    let text = |name: &str| schema_member(sent, name).filter(|value| !value.is_null());
    let filter = match text("filter") {
        None => None,
        Some(Value::String(text)) => Some(Filter::parse(text)?),
        Some(_) => return Err(invalid("filter must be text").into()),
    };
    // Below the smallest value, the smallest is meant (RFC 7644 §3.4.2.4).
    let start = number(sent, "startIndex", 1)?.clamp(1, i64::from(i32::MAX));
    let count = number(sent, "count", DEFAULT_COUNT)?.clamp(0, MAX_COUNT);
    let paging = match text("cursor") {
        None => Paging::Index(start),
        Some(Value::String(cursor)) if cursor.is_empty() => Paging::Cursor(None),
        Some(Value::String(cursor)) => {
            let after = open(call, list, cursor).ok_or_else(|| {
                Invalid::new(ErrorKind::InvalidCursor, "the cursor does not belong to this list")
            })?;
            Paging::Cursor(Some(after))
        }
        Some(_) => return Err(invalid("cursor must be text").into()),
    };
    Ok(Query { filter, paging, count, projection: projection(sent)? })
}

/// A cursor is a position, authenticated for this organization's list. It grants nothing.
fn mac(call: &Call, list: &str, place: &[u8]) -> [u8; MAC] {
    let whole =
        call.app.secrets.cursor_mac(&[b"scim", call.organization.uuid().as_bytes(), list.as_bytes(), place]);
    let mut short = [0; MAC];
    short.copy_from_slice(&whole[..MAC]);
    short
}

fn seal(call: &Call, list: &str, (at, id): Position) -> String {
    let micros = i64::try_from(at.unix_timestamp_nanos() / 1_000).unwrap_or_default();
    let place = [micros.to_be_bytes().as_slice(), id.as_bytes()].concat();
    URL_SAFE_NO_PAD.encode([mac(call, list, &place).as_slice(), &place].concat())
}

fn open(call: &Call, list: &str, cursor: &str) -> Option<Position> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let (given, place) = bytes.split_at_checked(MAC)?;
    if !bool::from(subtle::ConstantTimeEq::ct_eq(given, mac(call, list, place).as_slice())) {
        return None;
    }
    let (micros, id) = place.split_first_chunk::<8>()?;
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(i64::from_be_bytes(*micros)) * 1_000);
    Some((at.ok()?, Uuid::from_slice(id).ok()?))
}

/// A `ListResponse`.
pub(super) fn answer(call: &Call, list: &str, query: &Query, page: &Page) -> Response {
    let mut body = json!({
        "schemas": ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
        "itemsPerPage": page.resources.len(),
        "Resources": page.resources,
    });
    if let Some(total) = page.total {
        body["totalResults"] = total.into();
    }
    match query.paging {
        Paging::Index(start) => body["startIndex"] = start.into(),
        Paging::Cursor(_) => {
            if let Some(next) = page.next {
                body["nextCursor"] = seal(call, list, next).into();
            }
        }
    }
    document(StatusCode::OK, &body)
}
