//! Who may change whom, and how far.

use std::collections::BTreeSet;

use porteiro_protocol::permission::{Held, Permission};

use super::standing::Lost;
use crate::roles::{Definitions, OWNER};

/// Most roles one member wears.
pub const MOST_ROLES: usize = 20;
pub const LONGEST_NAME: usize = 100;
pub const LONGEST_REASON: usize = 500;

/// Why a change of a member is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// Nobody of that id is here, as far as the caller may know.
    NotFound,
    /// It was changed since the caller looked.
    Stale,
    Standing(Lost),
    /// The member may do what the caller may not.
    Above,
    /// The caller does not hold what they would give.
    Exceeds(Vec<Permission>),
    /// There is no such role.
    UnknownRole(String),
    /// None, too many, or one twice.
    Roles,
    /// The primary role is not among the roles.
    PrimaryRole,
    DisplayName,
    Reason,
    LastOwner,
    /// They are one already.
    AlreadyMember,
    /// Whom the caller may not add, or who is not there to be added.
    Whom(&'static str),
    /// Removed members come back by being added or invited, not by a change.
    Removed,
}

/// What is to be different.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    pub display_name: Option<String>,
    pub roles: Option<Vec<String>>,
    pub primary_role: Option<String>,
}

/// What a member becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Becomes {
    pub display_name: String,
    pub roles: Vec<String>,
    pub primary_role: String,
}

/// A member before a change, as far as it matters here.
#[derive(Debug, Clone, Copy)]
pub struct Now<'a> {
    pub display_name: &'a str,
    pub roles: &'a [String],
    pub primary_role: &'a str,
    pub held: &'a Held,
}

/// Nobody changes whoever may do more than they.
///
/// # Errors
/// When the member holds something the caller does not.
pub fn stands_above(caller: &Held, member: &Held) -> Result<(), Refused> {
    if caller.covers_all(member) { Ok(()) } else { Err(Refused::Above) }
}

/// Nobody gives a role that permits what they do not hold.
///
/// # Errors
/// When there is no such role, or the caller does not hold all of it.
pub fn may_give(caller: &Held, definitions: &Definitions, role: &str) -> Result<(), Refused> {
    let gives = definitions.get(role).ok_or_else(|| Refused::UnknownRole(role.to_owned()))?;
    if caller.covers_all(gives) {
        return Ok(());
    }
    Err(Refused::Exceeds(caller.missing(gives.named()).into_iter().cloned().collect()))
}

/// What a change comes to.
///
/// # Errors
/// When it says nothing sensible, or gives or takes more than the caller holds.
pub fn change(
    caller: &Held,
    definitions: &Definitions,
    now: Now<'_>,
    wanted: &Wanted,
) -> Result<Becomes, Refused> {
    stands_above(caller, now.held)?;
    let display_name = wanted.display_name.as_deref().unwrap_or(now.display_name);
    let display_name = name(display_name).ok_or(Refused::DisplayName)?;
    let roles = wanted.roles.as_deref().unwrap_or(now.roles);
    let distinct: BTreeSet<&String> = roles.iter().collect();
    if roles.is_empty() || roles.len() > MOST_ROLES || distinct.len() != roles.len() {
        return Err(Refused::Roles);
    }
    for added in roles.iter().filter(|role| !now.roles.contains(role)) {
        may_give(caller, definitions, added)?;
    }
    let worn = |role: &&str| roles.iter().any(|one| one == role);
    let primary_role = match wanted.primary_role.as_deref() {
        Some(asked) => Some(asked).filter(worn),
        None => Some(now.primary_role).filter(worn).or_else(|| roles.first().map(String::as_str)),
    };
    let primary_role = primary_role.ok_or(Refused::PrimaryRole)?.to_owned();
    Ok(Becomes { display_name, roles: distinct.into_iter().cloned().collect(), primary_role })
}

/// An organization keeps an owner. `another`: whether somebody else is one, and active.
///
/// # Errors
/// When the last one would stop being it.
pub fn keeps_an_owner(before: &[String], after: &[String], another: bool) -> Result<(), Refused> {
    let owns = |roles: &[String]| roles.iter().any(|role| role == OWNER);
    if owns(before) && !owns(after) && !another { Err(Refused::LastOwner) } else { Ok(()) }
}

/// A name as people read it: something to see, nothing that plays with the screen.
pub fn name(text: &str) -> Option<String> {
    let text = text.trim();
    let fits = (1..=LONGEST_NAME).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
}

/// Why somebody was disabled, if it was said.
///
/// # Errors
/// When it is too long or has what no text has.
pub fn reason(text: Option<&str>) -> Result<Option<&str>, Refused> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    let fits = text.chars().count() <= LONGEST_REASON && !text.chars().any(char::is_control);
    if fits { Ok(Some(text)) } else { Err(Refused::Reason) }
}

#[cfg(test)]
mod tests;
