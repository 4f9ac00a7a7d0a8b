//! What a filter asks for that an index answers, and what of it is refused because nothing answers it within bounds.

use porteiro_protocol::{
    id::MembershipId,
    scim::{Attr, Comparison, ErrorKind, Filter, Invalid, Literal, Operator},
};

/// The equalities that all must hold: names in lower case, and texts.
pub(super) fn equals(filter: &Filter) -> Vec<(String, String)> {
    let mut found = Vec::new();
    collect(filter, "", &mut found);
    found
}

fn collect(filter: &Filter, inside: &str, found: &mut Vec<(String, String)>) {
    match filter {
        Filter::And(parts) => parts.iter().for_each(|part| collect(part, inside, found)),
        Filter::Values(attr, inner) => collect(inner, &attr.name.to_lowercase(), found),
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

pub(super) fn value<'a>(equal: &'a [(String, String)], names: &[&str]) -> Option<&'a str> {
    equal.iter().find(|(name, _)| names.contains(&name.as_str())).map(|(_, text)| text.as_str())
}

fn is(attr: &Attr, name: &str) -> bool {
    attr.name.eq_ignore_ascii_case(name)
}

/// Users are not searched by their groups: a group is asked for its members.
///
/// # Errors
/// When the filter names them.
pub(super) fn without_groups(filter: &Filter) -> Result<(), Invalid> {
    match filter {
        Filter::And(parts) | Filter::Or(parts) => parts.iter().try_for_each(without_groups),
        Filter::Not(inner) => without_groups(inner),
        Filter::Compare(Comparison { attr, .. }) | Filter::Present(attr) | Filter::Values(attr, _) => {
            if is(attr, "groups") {
                let text = "users cannot be filtered by groups; filter groups by members";
                return Err(Invalid::new(ErrorKind::InvalidFilter, text));
            }
            Ok(())
        }
    }
}

/// The members that a filter of groups compares with. Who else is in a group, and what they are called, is not searched:
/// that would read every member of every group.
///
/// # Errors
/// When the filter asks anything else about members.
pub(super) fn members_asked(filter: &Filter) -> Result<Vec<MembershipId>, Invalid> {
    let mut found = Vec::new();
    asked(filter, &mut found)?;
    Ok(found)
}

fn asked(filter: &Filter, found: &mut Vec<MembershipId>) -> Result<(), Invalid> {
    match filter {
        Filter::And(parts) | Filter::Or(parts) => parts.iter().try_for_each(|part| asked(part, found)),
        Filter::Not(inner) => asked(inner, found),
        Filter::Compare(one) if is(&one.attr, "members") => {
            let part = one.attr.sub.as_deref().unwrap_or("value");
            id(one, part.eq_ignore_ascii_case("value"), found)
        }
        Filter::Values(attr, inner) if is(attr, "members") => match &**inner {
            Filter::Compare(one) => id(one, is(&one.attr, "value"), found),
            Filter::And(_) | Filter::Or(_) | Filter::Not(_) | Filter::Present(_) | Filter::Values(_, _) => {
                Err(only_equal())
            }
        },
        Filter::Present(attr) if is(attr, "members") => Err(only_equal()),
        Filter::Compare(_) | Filter::Values(_, _) | Filter::Present(_) => Ok(()),
    }
}

fn only_equal() -> Invalid {
    Invalid::new(ErrorKind::InvalidFilter, "members can only be compared by: members eq \"…\"")
}

/// What is no id is nobody's.
fn id(one: &Comparison, of_value: bool, found: &mut Vec<MembershipId>) -> Result<(), Invalid> {
    match (&one.literal, one.operator) {
        (Literal::Text(text), Operator::Eq) if of_value => {
            found.extend(text.parse::<MembershipId>());
            Ok(())
        }
        (_, _) => Err(only_equal()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "2819c223-7f76-453a-919d-413861904646";

    #[test]
    fn members_are_compared_by_their_ids_and_by_nothing_else() {
        for (filter, count) in [
            (format!("members eq \"{ONE}\""), 1),
            (format!("members.value eq \"{ONE}\" or members[value eq \"{ONE}\"]"), 2),
            (format!("not (members[value eq \"{ONE}\"]) and displayName eq \"x\""), 1),
            ("members eq \"nobody\"".into(), 0),
            ("displayName co \"x\"".into(), 0),
        ] {
            let ids = members_asked(&Filter::parse(&filter).unwrap()).unwrap();
            assert_eq!(ids.len(), count, "{filter}");
        }
        for filter in [
            "members pr",
            "members ne \"x\"",
            "members eq 1",
            "members.display co \"x\"",
            "members[display eq \"x\"]",
            "members[value eq \"x\" and type eq \"User\"]",
            "not (members sw \"2\")",
        ] {
            assert!(members_asked(&Filter::parse(filter).unwrap()).is_err(), "{filter}");
        }
        assert!(without_groups(&Filter::parse("not (groups.display co \"x\")").unwrap()).is_err());
        assert!(without_groups(&Filter::parse("title pr").unwrap()).is_ok());
    }
}
