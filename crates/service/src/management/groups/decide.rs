//! Which roles groups may give.

use porteiro_protocol::permission::{Held, RESERVED};

use crate::{
    http::{Problem, ProblemCode},
    management::{members::decide::may_give, standing::exceeds},
    roles::Definitions,
};

/// A caller gives and takes only roles whose permissions it holds; no group makes owners.
///
/// # Errors
/// When the role does not exist, may not be given by a group, or exceeds the caller.
pub fn may_map(
    caller: &Held,
    definitions: &Definitions,
    before: Option<&str>,
    after: Option<&str>,
) -> Result<(), Problem> {
    if let Some(role) = after {
        may_give(caller, definitions, role)?;
        if definitions.get(role).is_some_and(is_too_much) {
            let text = "a group cannot give this role: it has every permission, or a reserved one";
            return Err(Problem::new(ProblemCode::FieldInvalid, text));
        }
    }
    // The role may be gone; then there is nothing to take.
    let taken = before.and_then(|role| definitions.get(role));
    match taken.filter(|taken| !caller.covers_all(taken)) {
        None => Ok(()),
        Some(taken) => {
            let missing: Vec<_> = caller.missing(taken.named()).into_iter().cloned().collect();
            Err(exceeds(&missing))
        }
    }
}

fn is_too_much(role: &Held) -> bool {
    let reserved = |name: &&str| name.parse().is_ok_and(|reserved| role.covers(&reserved));
    role.is_everything() || RESERVED.iter().any(reserved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_makes_no_owner_and_gives_and_takes_only_what_the_caller_holds() {
        let held = |names: &[&str]| Held::of(names.iter().map(|name| name.parse().unwrap()));
        let roles = [("clerk", held(&["bills:read"])), ("boss", held(&["bills:read", "bills:pay"]))];
        let definitions = Definitions::new(roles.map(|(key, held)| (key.to_owned(), held)));
        let clerk = held(&["bills:read"]);
        for (caller, before, after, may) in [
            (&Held::everything(), None, Some("owner"), false),
            (&Held::everything(), None, Some("clerk"), true),
            (&Held::everything(), Some("boss"), None, true),
            (&Held::everything(), None, Some("nobody"), false),
            (&clerk, None, Some("clerk"), true),
            (&clerk, None, Some("boss"), false),
            (&clerk, Some("boss"), Some("clerk"), false),
            (&clerk, Some("boss"), None, false),
            (&clerk, Some("gone"), None, true),
        ] {
            assert_eq!(may_map(caller, &definitions, before, after).is_ok(), may, "{before:?} {after:?}");
        }
    }
}
