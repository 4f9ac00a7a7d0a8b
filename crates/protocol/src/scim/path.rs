//! Names of attributes, and paths of PATCH operations (RFC 7644 §3.5.2).

use super::{
    Filter, Invalid,
    filter::{self, Parser},
    lexer::{Token, tokens},
};

/// The longest path.
pub const LONGEST: usize = 2_048;

/// A name as in `urn:ietf:params:scim:schemas:core:2.0:User:name.familyName`. Case is ignored in comparisons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attr {
    pub schema: Option<String>,
    pub name: String,
    pub sub: Option<String>,
}

impl Attr {
    /// `None` when it is not a name.
    pub fn parse(text: &str) -> Option<Self> {
        let (schema, rest) = match text.get(..4) {
            // A schema contains dots, so the name begins after the last colon.
            Some(prefix) if prefix.eq_ignore_ascii_case("urn:") => {
                let (schema, rest) = text.rsplit_once(':')?;
                (Some(schema.to_owned()), rest)
            }
            Some(_) | None => (None, text),
        };
        let (name, sub) = match rest.split_once('.') {
            Some((name, sub)) => (name, Some(sub)),
            None => (rest, None),
        };
        let sub = match sub {
            Some(sub) => Some(name_of(sub)?),
            None => None,
        };
        Some(Self { schema, name: name_of(name)?, sub })
    }

    /// The whole schema, where the last part belongs to its URN: `urn:…:extension:enterprise:2.0:User`.
    pub fn as_schema(&self) -> Option<String> {
        let dot = |sub: &String| format!("{}.{sub}", self.name);
        let last = self.sub.as_ref().map_or_else(|| self.name.clone(), dot);
        self.schema.as_ref().map(|schema| format!("{schema}:{last}"))
    }
}

/// `$ref` is the only name with a dollar sign.
fn name_of(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let starts = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic());
    let well_formed =
        starts && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    (well_formed || text.eq_ignore_ascii_case("$ref")).then(|| text.to_owned())
}

/// What a PATCH operation changes: an attribute, some values of it, or a part of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    pub attr: Attr,
    pub filter: Option<Filter>,
}

impl Path {
    /// # Errors
    /// When the text is not a path, or is too long.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let invalid = || Invalid::path("the path is not one of RFC 7644, section 3.5.2");
        if text.len() > LONGEST {
            return Err(Invalid::path(format!("a path has at most {LONGEST} characters")));
        }
        let tokens = tokens(text).map_err(|_| invalid())?;
        let Some((Token::Word(first), rest)) = tokens.split_first() else { return Err(invalid()) };
        let mut attr = Attr::parse(first).ok_or_else(invalid)?;
        let filter = match rest {
            [] => None,
            [Token::OpenBracket, inner @ .., Token::CloseBracket] => Some(inner),
            [Token::OpenBracket, inner @ .., Token::CloseBracket, Token::Word(sub)] if attr.sub.is_none() => {
                let sub = sub.strip_prefix('.').and_then(name_of).ok_or_else(invalid)?;
                attr.sub = Some(sub);
                Some(inner)
            }
            _ => return Err(invalid()),
        };
        let filter = filter.map(|inner| Parser::inside(inner).map_err(|_| invalid())).transpose()?;
        if filter.as_ref().is_some_and(filter::Filter::has_values) {
            return Err(invalid());
        }
        Ok(Self { attr, filter })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_schema_a_name_and_a_part() {
        let urn = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
        let attr = Attr::parse(&format!("{urn}:manager.displayName")).unwrap();
        assert_eq!((attr.schema.as_deref(), attr.name.as_str()), (Some(urn), "manager"));
        assert_eq!(attr.sub.as_deref(), Some("displayName"));
        assert_eq!(Attr::parse(urn).unwrap().as_schema().as_deref(), Some(urn));
        for wrong in ["", ".a", "a.", "a.b.c", "1a", "a b", "urn:", "é"] {
            assert_eq!(Attr::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn paths_of_directories_are_read() {
        for text in [
            "active",
            "name.givenName",
            "members",
            "members[value eq \"2819c223-7f76-453a-919d-413861904646\"]",
            "emails[type eq \"work\"].value",
            "emails[type eq \"work\" and primary eq true].value",
            "roles[primary eq \"True\"].value",
            "addresses[type eq \"work\"].streetAddress",
            "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department",
            "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager.value",
            "urn:ietf:params:scim:schemas:core:2.0:User:emails[type eq \"work\"].value",
        ] {
            assert!(Path::parse(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "[",
            "emails[",
            "emails[]",
            "emails[type eq \"work\"",
            "emails[type eq \"work\"].",
            "emails[type eq \"work\"]value",
            "emails[a[b eq 1]]",
            "emails.value[type eq \"work\"].value",
            "name..givenName",
            "\"active\"",
        ] {
            assert!(Path::parse(text).is_err(), "{text}");
        }
    }
}
