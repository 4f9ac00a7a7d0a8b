//! Distinguished names: in certificates (RFC 5280 §4.1.2.4) and as text (RFC 4514), compared attribute by attribute.
//! Values are compared exactly: the looser rules of RFC 5280 §7.1 are for path building, and here they would let one
//! client impersonate another.

use data_encoding::HEXLOWER_PERMISSIVE;
use x509_parser::{
    asn1_rs::{Any, Class, Tag},
    prelude::{FromDer, X509Name},
    x509::AttributeTypeAndValue,
};

/// RFC 4514 §3 first, then other attributes of client certificates.
const TYPES: [(&str, &str); 26] = [
    ("CN", "2.5.4.3"),
    ("L", "2.5.4.7"),
    ("ST", "2.5.4.8"),
    ("O", "2.5.4.10"),
    ("OU", "2.5.4.11"),
    ("C", "2.5.4.6"),
    ("STREET", "2.5.4.9"),
    ("DC", "0.9.2342.19200300.100.1.25"),
    ("UID", "0.9.2342.19200300.100.1.1"),
    ("commonName", "2.5.4.3"),
    ("localityName", "2.5.4.7"),
    ("stateOrProvinceName", "2.5.4.8"),
    ("organizationName", "2.5.4.10"),
    ("organizationalUnitName", "2.5.4.11"),
    ("countryName", "2.5.4.6"),
    ("streetAddress", "2.5.4.9"),
    ("domainComponent", "0.9.2342.19200300.100.1.25"),
    ("userId", "0.9.2342.19200300.100.1.1"),
    ("serialNumber", "2.5.4.5"),
    ("title", "2.5.4.12"),
    ("businessCategory", "2.5.4.15"),
    ("postalCode", "2.5.4.17"),
    ("givenName", "2.5.4.42"),
    ("dnQualifier", "2.5.4.46"),
    ("organizationIdentifier", "2.5.4.97"),
    ("emailAddress", "1.2.840.113549.1.9.1"),
];

/// Never empty. The last relative name comes first, as in RFC 4514 §2.1; each is a set and is sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name(Vec<Vec<Attribute>>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Attribute {
    oid: String,
    value: AttributeValue,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum AttributeValue {
    Text(String),
    Other { class: u8, tag: u32, bytes: Vec<u8> },
}

impl Name {
    pub(super) fn read(name: &X509Name<'_>) -> Option<Self> {
        let mut names: Vec<_> =
            name.iter().map(|rdn| set(rdn.iter().map(Attribute::read))).collect::<Option<_>>()?;
        names.reverse();
        (!names.is_empty()).then_some(Self(names))
    }

    /// RFC 4514 §3, without the leniency of earlier versions, such as spaces after commas and quoted values.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let names =
            split(text, b',').into_iter().map(|rdn| set(split(rdn, b'+').into_iter().map(Attribute::parse)));
        names.collect::<Option<_>>().map(Self)
    }
}

fn set(attributes: impl Iterator<Item = Option<Attribute>>) -> Option<Vec<Attribute>> {
    let mut attributes: Vec<_> = attributes.collect::<Option<_>>()?;
    attributes.sort();
    (!attributes.is_empty()).then_some(attributes)
}

/// Splits at separators that are not escaped.
fn split(text: &str, separator: u8) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (index, byte) in text.bytes().enumerate() {
        if byte == separator && !escaped {
            pieces.extend(text.get(start..index));
            start = index + 1;
        }
        escaped = byte == b'\\' && !escaped;
    }
    pieces.extend(text.get(start..));
    pieces
}

impl Attribute {
    fn read(attribute: &AttributeTypeAndValue<'_>) -> Option<Self> {
        let value = AttributeValue::read(attribute.attr_value())?;
        Some(Self { oid: attribute.attr_type().to_id_string(), value })
    }

    fn parse(text: &str) -> Option<Self> {
        let (kind, value) = text.split_once('=')?;
        let named = TYPES.iter().find(|(name, _)| name.eq_ignore_ascii_case(kind)).map(|(_, oid)| *oid);
        let oid = named.or_else(|| is_oid(kind).then_some(kind))?.to_owned();
        let value = match value.strip_prefix('#') {
            Some(hex) => {
                let der = bytes_of(hex.as_bytes())?;
                let (rest, any) = Any::from_der(&der).ok()?;
                rest.is_empty().then(|| AttributeValue::read(&any))??
            }
            None => AttributeValue::Text(unescape(value)?),
        };
        Some(Self { oid, value })
    }
}

impl AttributeValue {
    /// `None` for a text that does not match its type. Texts of rarer types (T.61, UCS-2) stay bytes.
    fn read(any: &Any<'_>) -> Option<Self> {
        let text = || String::from_utf8(any.data.to_vec()).ok().map(Self::Text);
        match (any.header.class(), any.header.tag()) {
            (Class::Universal, Tag::Utf8String) => text(),
            (
                Class::Universal,
                Tag::PrintableString | Tag::Ia5String | Tag::NumericString | Tag::VisibleString,
            ) if any.data.is_ascii() => text(),
            (class, tag) => Some(Self::Other { class: class as u8, tag: tag.0, bytes: any.data.to_vec() }),
        }
    }
}

/// RFC 4512 §1.4, numericoid.
fn is_oid(text: &str) -> bool {
    let number = |arc: &str| {
        !arc.is_empty()
            && arc.bytes().all(|byte| byte.is_ascii_digit())
            && (arc == "0" || !arc.starts_with('0'))
    };
    text.contains('.') && text.split('.').all(number)
}

fn bytes_of(hex: &[u8]) -> Option<Vec<u8>> {
    HEXLOWER_PERMISSIVE.decode(hex).ok()
}

/// RFC 4514 §3, `string`: outer spaces and special characters must be escaped.
fn unescape(text: &str) -> Option<String> {
    if text.starts_with(' ') {
        return None;
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    let mut bare_space = false;
    while let [first, tail @ ..] = rest {
        bare_space = *first == b' ';
        let (byte, tail) = match (first, tail) {
            (b'\\', [special, tail @ ..]) if b"\\\"+,;<> #=".contains(special) => (*special, tail),
            (b'\\', [high, low, tail @ ..]) => (*bytes_of(&[*high, *low])?.first()?, tail),
            (b'\\' | b'"' | b'+' | b',' | b';' | b'<' | b'>' | 0, _) => return None,
            (other, tail) => (*other, tail),
        };
        plain.push(byte);
        rest = tail;
    }
    if bare_space { None } else { String::from_utf8(plain).ok() }
}

#[cfg(test)]
mod tests;
