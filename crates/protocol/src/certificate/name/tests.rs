use proptest::prelude::*;

use super::*;

/// An attribute: the bytes of its OID, its string tag, its value.
type Raw<'a> = (&'a [u8], u8, &'a [u8]);

/// A distinguished name in DER, one inner list per relative name.
fn der(rdns: &[&[Raw<'_>]]) -> Vec<u8> {
    let tlv = |tag: u8, bytes: Vec<u8>| {
        let mut out = vec![tag, u8::try_from(bytes.len()).unwrap()];
        out.extend(bytes);
        out
    };
    let attribute = |(oid, tag, value): &Raw<'_>| {
        tlv(0x30, [tlv(0x06, oid.to_vec()), tlv(*tag, value.to_vec())].concat())
    };
    tlv(0x30, rdns.iter().flat_map(|rdn| tlv(0x31, rdn.iter().flat_map(attribute).collect())).collect())
}
fn read(rdns: &[&[Raw<'_>]]) -> Option<Name> {
    let der = der(rdns);
    let (rest, name) = X509Name::from_der(&der).unwrap();
    assert!(rest.is_empty());
    Name::read(&name)
}

const CN: &[u8] = &[0x55, 4, 3];
const OU: &[u8] = &[0x55, 4, 11];
const DC: &[u8] = &[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25];
const UTF8: u8 = 12;
const PRINTABLE: u8 = 19;
const IA5: u8 = 22;

/// RFC 4514 §4.
#[test]
fn rfc4514_examples() {
    let net: &[Raw<'_>] = &[(DC, IA5, b"net")];
    let example: &[Raw<'_>] = &[(DC, IA5, b"example")];
    let sales: &[Raw<'_>] = &[(OU, PRINTABLE, b"Sales"), (CN, UTF8, b"J.  Smith")];
    let read_sales = read(&[net, example, sales]);
    assert!(read_sales.is_some());
    for spelling in [
        "OU=Sales+CN=J.  Smith,DC=example,DC=net",
        "CN=J.  Smith+OU=Sales,DC=example,DC=net",
        "ou=Sales+commonname=J.  Smith,dc=example,0.9.2342.19200300.100.1.25=net",
        r"OU=\53ales+CN=J. \20Smith,DC=#16076578616d706c65,DC=net",
    ] {
        assert_eq!(Name::parse(spelling), read_sales, "{spelling}");
    }
    for other in [
        "DC=net,DC=example,OU=Sales+CN=J.  Smith",
        "OU=Sales,CN=J.  Smith,DC=example,DC=net",
        "OU=Sales+CN=J. Smith,DC=example,DC=net",
        "OU=sales+CN=J.  Smith,DC=example,DC=net",
        "OU=Sales+OU=Sales+CN=J.  Smith,DC=example,DC=net",
        "CN=J.  Smith,DC=example,DC=net",
        "DC=example,DC=net",
    ] {
        assert!(Name::parse(other).is_some(), "{other}");
        assert_ne!(Name::parse(other), read_sales, "{other}");
    }
    let cn = |value: &[u8]| read(&[&[(CN, UTF8, value)]]);
    assert_eq!(Name::parse(r#"CN=James \"Jim\" Smith\, III"#), cn(b"James \"Jim\" Smith, III"));
    assert_eq!(Name::parse(r"CN=Before\0dAfter"), cn(b"Before\rAfter"));
    assert_eq!(Name::parse(r"CN=Lu\C4\8Di\C4\87"), cn("Lučić".as_bytes()));
    assert_eq!(Name::parse("CN=Lučić"), cn("Lučić".as_bytes()));
    assert_eq!(Name::parse(r"CN=\ a=b\ "), cn(b" a=b "));
    assert_eq!(
        Name::parse("1.3.6.1.4.1.1466.0=#04024869"),
        read(&[&[(&[0x2b, 6, 1, 4, 1, 0x8b, 0x3a, 0], 4, b"Hi")]])
    );
}

#[test]
fn what_is_not_a_name_is_none() {
    for bad in [
        "",
        "CN",
        "CN=a,",
        ",CN=a",
        "CN=a, O=b",
        "CN= a",
        "CN=a ",
        "CN =a",
        "CN=a;O=b",
        "CN=\"a\"",
        "CN=<a>",
        "CN=a\\",
        "CN=a\\0",
        "CN=a\\zz",
        "CN=\\ff",
        "CN=a\0",
        "CN=#",
        "CN=#0c",
        "CN=#0c0",
        "CN=#0c0161ff",
        "CN=#0c01ff",
        "CN=a+",
        "=a",
        "nothing=a",
        "2=a",
        "2.05=a",
        "2.5.=a",
        "oid.2.5.4.3=a",
    ] {
        assert_eq!(Name::parse(bad), None, "{bad}");
    }
    // A subject without a name matches no client, nor does one with malformed text.
    assert_eq!(read(&[]), None);
    assert_eq!(read(&[&[(CN, UTF8, b"\xff")]]), None);
    // UCS-2 is not read as text.
    assert_ne!(read(&[&[(CN, 30, b"\0a")]]), Name::parse("CN=a"));
    assert_eq!(read(&[&[(CN, 30, b"\0a")]]), Name::parse("CN=#1e020061"));
}

fn escape(text: &str) -> String {
    text.bytes().fold(String::new(), |out, byte| out + &format!("\\{byte:02x}"))
}

proptest! {
    #[test]
    fn an_escaped_value_is_the_value(value in "[^\\x00]{0,12}", other in "[ -~]{0,12}") {
        let cn = |value: &str| read(&[&[(CN, UTF8, value.as_bytes())]]);
        let parsed = Name::parse(&format!("CN={}", escape(&value)));
        prop_assert_eq!(&parsed, &cn(&value));
        prop_assert_eq!(parsed == cn(&other), value == other);
    }

    #[test]
    fn any_text_has_an_answer(text in "(CN=|O=|[,+\\\\#; a]|\\PC){0,20}") {
        let parsed = Name::parse(&text);
        prop_assert!(parsed.is_none() || text.contains('='));
    }
}
