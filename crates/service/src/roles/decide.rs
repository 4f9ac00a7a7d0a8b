//! What a role may be, and who may shape it.

use std::collections::BTreeSet;

use porteiro_protocol::permission::{Held, MAX_PART, Permission};

use super::built_in;
use crate::members::{decide::name as plain_name, standing::Lost};

/// Most roles an organization makes for itself.
pub const MOST_ROLES: i64 = 200;
/// Most permissions in one.
pub const MOST_PERMISSIONS: usize = 200;

/// Why a role is not made, changed or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    NotFound,
    /// It was changed since the caller looked.
    Stale,
    Standing(Lost),
    Key,
    /// The built-in ones are code.
    BuiltIn,
    Name,
    Taken,
    TooMany,
    TooManyPermissions,
    NotAPermission(String),
    /// Held by name alone, never through a role.
    Reserved(Permission),
    /// Nothing here can be permitted by it.
    Unknown(Permission),
    /// The caller does not hold it.
    Exceeds(Vec<Permission>),
    /// Members wear it.
    Worn,
}

/// `[a-z][a-z0-9_-]{0,62}`, and none of ours.
///
/// # Errors
/// When it is anything else.
pub fn key(text: &str) -> Result<(), Refused> {
    let mut bytes = text.bytes();
    let well_formed = text.len() <= MAX_PART
        && bytes.next().is_some_and(|first| first.is_ascii_lowercase())
        && bytes.all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'));
    match (well_formed, built_in(text)) {
        (false, _) => Err(Refused::Key),
        (true, Some(_)) => Err(Refused::BuiltIn),
        (true, None) => Ok(()),
    }
}

/// # Errors
/// When it is empty, too long, or not text.
pub fn name(text: &str) -> Result<String, Refused> {
    plain_name(text).ok_or(Refused::Name)
}

/// Permissions as they were sent, each once.
///
/// # Errors
/// When one is none, is reserved, or they are too many.
pub fn permissions(texts: &[String]) -> Result<BTreeSet<Permission>, Refused> {
    let parse = |text: &String| match Permission::parse(text) {
        Err(_) => Err(Refused::NotAPermission(text.chars().take(80).collect())),
        Ok(permission) if permission.is_reserved() => Err(Refused::Reserved(permission)),
        Ok(permission) => Ok(permission),
    };
    let permissions = texts.iter().map(parse).collect::<Result<BTreeSet<_>, _>>()?;
    if permissions.len() > MOST_PERMISSIONS { Err(Refused::TooManyPermissions) } else { Ok(permissions) }
}

/// Whoever shapes a role holds all it permits, before and after: what they do not hold they neither give nor take.
/// `known`: what can be permitted here; what a role has already may stay.
///
/// # Errors
/// When something new is unknown, or something in it is not held.
pub fn may_shape(
    caller: &Held,
    before: &BTreeSet<Permission>,
    after: &BTreeSet<Permission>,
    known: &[Permission],
) -> Result<(), Refused> {
    let means_something = |asked: &Permission| {
        known.iter().any(|one| one == asked || (asked.is_wildcard() && asked.resource() == one.resource()))
    };
    if let Some(unknown) = after.difference(before).find(|asked| !means_something(asked)) {
        return Err(Refused::Unknown(unknown.clone()));
    }
    let missing: Vec<Permission> = caller.missing(before.union(after)).into_iter().cloned().collect();
    if missing.is_empty() { Ok(()) } else { Err(Refused::Exceeds(missing)) }
}

/// What somebody no longer holds. Whoever held everything is told what there is of it.
pub fn lost(before: &Held, after: &Held, known: &[Permission]) -> Vec<Permission> {
    let everything = before.is_everything() && !after.is_everything();
    let of_everything = known.iter().filter(|_| everything);
    let lost: BTreeSet<&Permission> =
        before.named().chain(of_everything).filter(|one| !after.covers(one)).collect();
    lost.into_iter().cloned().collect()
}

#[cfg(test)]
mod tests;
