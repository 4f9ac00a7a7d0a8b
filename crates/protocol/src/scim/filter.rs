//! Filters (RFC 7644 §3.4.2.2), bounded in length, depth and number of terms before anything recurses. Beyond the
//! grammar, `emails[type eq "work"].value eq "…"` is read, because Microsoft Entra ID sends it.

use super::{
    ErrorKind, Invalid,
    lexer::{Token, tokens},
    path::Attr,
};

/// The longest filter, in bytes.
pub const LONGEST: usize = 4_096;
/// How deep parentheses and brackets may nest.
pub const DEEPEST: usize = 16;
/// The largest number of comparisons.
pub const MOST_TERMS: usize = 64;

#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    And(Vec<Self>),
    Or(Vec<Self>),
    Not(Box<Self>),
    Compare(Comparison),
    Present(Attr),
    /// Some value of a multi-valued attribute passes the filter.
    Values(Attr, Box<Self>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    pub attr: Attr,
    pub operator: Operator,
    pub literal: Literal,
    /// The literal as text in lower case, made once: it is compared with many values.
    pub(super) folded: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Eq,
    Ne,
    Co,
    Sw,
    Ew,
    Gt,
    Ge,
    Lt,
    Le,
}

impl Operator {
    fn parse(word: &str) -> Option<Self> {
        let all = [
            ("eq", Self::Eq),
            ("ne", Self::Ne),
            ("co", Self::Co),
            ("sw", Self::Sw),
            ("ew", Self::Ew),
            ("gt", Self::Gt),
            ("ge", Self::Ge),
            ("lt", Self::Lt),
            ("le", Self::Le),
        ];
        all.into_iter().find(|(name, _)| word.eq_ignore_ascii_case(name)).map(|(_, operator)| operator)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    Text(String),
    Boolean(bool),
    Number(f64),
    Null,
}

impl Filter {
    /// # Errors
    /// When the text is not a filter, or exceeds a bound.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let invalid = |detail: String| Invalid::new(ErrorKind::InvalidFilter, detail);
        if text.len() > LONGEST {
            return Err(invalid(format!("a filter has at most {LONGEST} bytes")));
        }
        let tokens = tokens(text)
            .map_err(|_| invalid("the filter has characters that RFC 7644 does not allow".into()))?;
        Parser::inside(&tokens).map_err(invalid)
    }

    /// The number of comparisons.
    pub fn terms(&self) -> usize {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().map(Self::terms).sum(),
            Self::Not(inner) | Self::Values(_, inner) => inner.terms(),
            Self::Compare(_) | Self::Present(_) => 1,
        }
    }

    /// Whether a part of it is about values of a multi-valued attribute.
    pub(super) fn has_values(&self) -> bool {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().any(Self::has_values),
            Self::Not(inner) => inner.has_values(),
            Self::Values(_, _) => true,
            Self::Compare(_) | Self::Present(_) => false,
        }
    }
}

/// Reads tokens; the error says what is wrong.
pub(super) struct Parser<'a> {
    tokens: &'a [Token],
    depth: usize,
    terms: usize,
}

type Parsed<T> = Result<T, String>;

fn wrong<T>(what: &str) -> Parsed<T> {
    Err(format!("the filter {what}"))
}

impl<'a> Parser<'a> {
    /// A whole filter.
    pub(super) fn inside(tokens: &'a [Token]) -> Parsed<Filter> {
        let mut parser = Self { tokens, depth: 0, terms: 0 };
        let filter = parser.any()?;
        if parser.tokens.is_empty() { Ok(filter) } else { wrong("has more after its end") }
    }

    fn next(&mut self) -> Option<&'a Token> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    fn takes(&mut self, keyword: &str) -> bool {
        let found =
            matches!(self.tokens.first(), Some(Token::Word(word)) if word.eq_ignore_ascii_case(keyword));
        if found {
            self.next();
        }
        found
    }

    fn any(&mut self) -> Parsed<Filter> {
        let mut parts = vec![self.all()?];
        while self.takes("or") {
            parts.push(self.all()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Filter::Or(parts) })
    }

    fn all(&mut self) -> Parsed<Filter> {
        let mut parts = vec![self.one()?];
        while self.takes("and") {
            parts.push(self.one()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Filter::And(parts) })
    }

    /// A filter between parentheses or brackets. The depth is checked first: only this recurses.
    fn nested(&mut self, closing: &Token) -> Parsed<Filter> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return wrong("nests too deep");
        }
        let inner = self.any()?;
        self.depth -= 1;
        if self.next() == Some(closing) { Ok(inner) } else { wrong("has an open parenthesis or bracket") }
    }

    fn one(&mut self) -> Parsed<Filter> {
        self.terms += 1;
        if self.terms > MOST_TERMS {
            return wrong("has too many comparisons");
        }
        match self.next() {
            Some(Token::Open) => self.nested(&Token::Close),
            Some(Token::Word(word)) if word.eq_ignore_ascii_case("not") => match self.next() {
                Some(Token::Open) => Ok(Filter::Not(Box::new(self.nested(&Token::Close)?))),
                _ => wrong("has a 'not' without parentheses"),
            },
            Some(Token::Word(word)) => match Attr::parse(word) {
                Some(attr) => self.about(attr),
                None => wrong("has a malformed attribute name"),
            },
            _ => wrong("is incomplete"),
        }
    }

    fn about(&mut self, attr: Attr) -> Parsed<Filter> {
        if self.tokens.first() == Some(&Token::OpenBracket) {
            return self.values(attr);
        }
        if self.takes("pr") {
            return Ok(Filter::Present(attr));
        }
        self.comparison(attr).map(Filter::Compare)
    }

    /// `emails[type eq "work"]`, or that with a comparison of a part: `.value eq "…"`.
    fn values(&mut self, attr: Attr) -> Parsed<Filter> {
        self.next();
        let inner = self.nested(&Token::CloseBracket)?;
        if inner.has_values() || attr.sub.is_some() {
            return wrong("has brackets in brackets");
        }
        let part = match self.tokens.first() {
            Some(Token::Word(word)) => word.strip_prefix('.').and_then(Attr::parse),
            _ => None,
        };
        let Some(part) = part else { return Ok(Filter::Values(attr, Box::new(inner))) };
        self.next();
        let compared =
            if self.takes("pr") { Filter::Present(part) } else { Filter::Compare(self.comparison(part)?) };
        Ok(Filter::Values(attr, Box::new(Filter::And(vec![inner, compared]))))
    }

    fn comparison(&mut self, attr: Attr) -> Parsed<Comparison> {
        let operator = match self.next() {
            Some(Token::Word(word)) => Operator::parse(word),
            _ => None,
        };
        let Some(operator) = operator else { return wrong("has an unknown operator") };
        let literal = match self.next() {
            Some(Token::Text(text)) => Some(Literal::Text(text.clone())),
            Some(Token::Word(word)) => literal(word),
            _ => None,
        };
        match literal {
            Some(literal) => {
                let folded = match &literal {
                    Literal::Text(text) => text.to_lowercase(),
                    Literal::Boolean(value) => value.to_string(),
                    Literal::Number(number) => number.to_string(),
                    Literal::Null => String::new(),
                };
                Ok(Comparison { attr, operator, literal, folded })
            }
            None => wrong("compares with something that is not a JSON value"),
        }
    }
}

fn literal(word: &str) -> Option<Literal> {
    match word.to_ascii_lowercase().as_str() {
        "true" => Some(Literal::Boolean(true)),
        "false" => Some(Literal::Boolean(false)),
        "null" => Some(Literal::Null),
        number => number.parse().ok().filter(|number: &f64| number.is_finite()).map(Literal::Number),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn filters_of_directories_are_read() {
        for text in [
            "userName eq \"ana@example.test\"",
            "USERNAME Eq \"ana\"",
            "externalId eq \"701984\"",
            "id eq \"5\" and manager eq \"2819c223-7f76-453a-919d-413861904646\"",
            "emails[type eq \"work\"].value eq \"ana@example.test\"",
            "emails[type eq \"work\" and value co \"@example.test\"]",
            "displayName eq \"Sales \\\"EMEA\\\"\"",
            "active eq true",
            "active eq \"True\"",
            "not (userName sw \"a\") or title pr and (userType ne \"x\")",
            "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department eq \"Sales\"",
            "meta.lastModified gt \"2011-05-13T04:42:34Z\"",
        ] {
            assert!(Filter::parse(text).is_ok(), "{text}: {:?}", Filter::parse(text));
        }
    }

    #[test]
    fn and_binds_closer_than_or() {
        let parsed = Filter::parse("a pr or b pr and c pr").unwrap();
        let Filter::Or(parts) = parsed else { panic!("{parsed:?}") };
        assert!(matches!(parts.as_slice(), [Filter::Present(_), Filter::And(two)] if two.len() == 2));
    }

    #[test]
    fn what_is_no_filter_or_too_much_of_one_is_refused() {
        let deep = |levels: usize| format!("{}a pr{}", "(".repeat(levels), ")".repeat(levels));
        assert!(Filter::parse(&deep(DEEPEST)).is_ok());
        let wide = |terms: usize| vec!["a pr"; terms].join(" or ");
        assert!(Filter::parse(&wide(MOST_TERMS)).is_ok());
        for text in [
            String::new(),
            " ".into(),
            "userName".into(),
            "userName eq".into(),
            "userName eq ana".into(),
            "userName = \"ana\"".into(),
            "userName eq \"ana".into(),
            "userName eq \"a\" userName eq \"b\"".into(),
            "userName like \"a\"".into(),
            "(userName pr".into(),
            "userName pr)".into(),
            "not userName pr".into(),
            "emails[type eq \"work\"".into(),
            "emails[a[b pr]]".into(),
            "a eq \"\\u0000\"".into(),
            "a eq NaN".into(),
            "a eq 1e999".into(),
            "á pr".into(),
            deep(DEEPEST + 1),
            deep(2_000),
            wide(MOST_TERMS + 1),
            format!("a eq \"{}\"", "x".repeat(LONGEST)),
        ] {
            let refused = Filter::parse(&text).unwrap_err();
            assert_eq!(refused.kind, ErrorKind::InvalidFilter, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        #[test]
        fn no_text_stops_the_parser(text in "[ a-z\"\\\\().\\[\\]:0-9]{0,80}") {
            drop(Filter::parse(&text));
            drop(super::super::Path::parse(&text));
        }
    }
}
