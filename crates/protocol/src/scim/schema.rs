//! The attributes of users and groups (RFC 7643). `/Schemas`, the normal form of resources, filters and PATCH paths are
//! made from these tables.

use serde_json::{Value, json};

pub const USER: &str = "urn:ietf:params:scim:schemas:core:2.0:User";
pub const GROUP: &str = "urn:ietf:params:scim:schemas:core:2.0:Group";
pub const ENTERPRISE: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

/// The type of an attribute's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Boolean,
    /// With what it may refer to (RFC 7643 §7).
    Reference(&'static [&'static str]),
    Binary,
    Complex(&'static [Attribute]),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute {
    pub name: &'static str,
    pub kind: Kind,
    pub multi_valued: bool,
    pub required: bool,
    pub case_exact: bool,
    pub mutability: Mutability,
    pub uniqueness: Uniqueness,
    /// What a client should know about it besides its name.
    pub note: &'static str,
}

/// Whether a directory may write it. A part of a value that is immutable comes and goes with the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutability {
    ReadWrite,
    Immutable,
    ReadOnly,
}

impl Mutability {
    const fn as_str(self) -> &'static str {
        match self {
            Self::ReadWrite => "readWrite",
            Self::Immutable => "immutable",
            Self::ReadOnly => "readOnly",
        }
    }
}

/// Whether two resources of an organization may have the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uniqueness {
    None,
    Server,
}

const fn of(name: &'static str, kind: Kind) -> Attribute {
    Attribute {
        name,
        kind,
        multi_valued: false,
        required: false,
        case_exact: false,
        mutability: Mutability::ReadWrite,
        uniqueness: Uniqueness::None,
        note: "",
    }
}

const fn text(name: &'static str) -> Attribute {
    of(name, Kind::Text)
}

const fn read_only(attribute: Attribute) -> Attribute {
    Attribute { mutability: Mutability::ReadOnly, ..attribute }
}

const fn many(name: &'static str, parts: &'static [Attribute]) -> Attribute {
    Attribute { multi_valued: true, ..of(name, Kind::Complex(parts)) }
}

/// The usual parts of a multi-valued attribute (RFC 7643 §2.4).
const VALUES: &[Attribute] = &[text("value"), text("display"), text("type"), of("primary", Kind::Boolean)];

const NAME: &[Attribute] = &[
    text("formatted"),
    text("familyName"),
    text("givenName"),
    text("middleName"),
    text("honorificPrefix"),
    text("honorificSuffix"),
];

const ADDRESS: &[Attribute] = &[
    text("formatted"),
    text("streetAddress"),
    text("locality"),
    text("region"),
    text("postalCode"),
    text("country"),
    text("type"),
    of("primary", Kind::Boolean),
];

const EXTERNAL: Kind = Kind::Reference(&["external"]);
const TO_USER: Kind = Kind::Reference(&["User"]);
const TO_GROUP: Kind = Kind::Reference(&["Group"]);

/// A group of a user.
const GROUP_OF: &[Attribute] = &[
    read_only(Attribute { case_exact: true, ..text("value") }),
    read_only(of("$ref", TO_GROUP)),
    read_only(text("display")),
    read_only(text("type")),
];

/// A member of a group: always a user, and what is shown besides the id is the user's.
const MEMBER: &[Attribute] = &[
    Attribute { case_exact: true, mutability: Mutability::Immutable, ..text("value") },
    Attribute { mutability: Mutability::Immutable, ..of("$ref", TO_USER) },
    read_only(text("display")),
    read_only(text("type")),
];

const CERTIFICATE: &[Attribute] =
    &[of("value", Kind::Binary), text("display"), text("type"), of("primary", Kind::Boolean)];

const PHOTO: &[Attribute] =
    &[of("value", EXTERNAL), text("display"), text("type"), of("primary", Kind::Boolean)];

const MANAGER: &[Attribute] =
    &[Attribute { case_exact: true, ..text("value") }, of("$ref", TO_USER), text("displayName")];

pub const EXTERNAL_ID: Attribute = Attribute { case_exact: true, ..text("externalId") };

/// How many groups of a user are shown.
pub const MOST_GROUPS_SHOWN: i64 = 100;
/// The largest number of members of a group.
pub const MOST_MEMBERS: i64 = 20_000;

const GROUPS_NOTE: &str = "; at most 100 are shown. Groups with the filter: members eq \"…\" lists all";
const MEMBERS_NOTE: &str = "; at most 20000";

const USER_ATTRIBUTES: &[Attribute] = &[
    Attribute { required: true, uniqueness: Uniqueness::Server, ..text("userName") },
    of("name", Kind::Complex(NAME)),
    text("displayName"),
    text("nickName"),
    of("profileUrl", EXTERNAL),
    text("title"),
    text("userType"),
    text("preferredLanguage"),
    text("locale"),
    text("timezone"),
    of("active", Kind::Boolean),
    many("emails", VALUES),
    many("phoneNumbers", VALUES),
    many("ims", VALUES),
    many("photos", PHOTO),
    many("addresses", ADDRESS),
    read_only(Attribute { note: GROUPS_NOTE, ..many("groups", GROUP_OF) }),
    many("entitlements", VALUES),
    many("roles", VALUES),
    many("x509Certificates", CERTIFICATE),
];

const ENTERPRISE_ATTRIBUTES: &[Attribute] = &[
    text("employeeNumber"),
    text("costCenter"),
    text("organization"),
    text("division"),
    text("department"),
    of("manager", Kind::Complex(MANAGER)),
];

const GROUP_ATTRIBUTES: &[Attribute] = &[
    Attribute { required: true, uniqueness: Uniqueness::Server, ..text("displayName") },
    Attribute { note: MEMBERS_NOTE, ..many("members", MEMBER) },
];

#[derive(Debug, Clone, Copy)]
pub struct Schema {
    pub id: &'static str,
    pub name: &'static str,
    pub description: &'static str,
    pub attributes: &'static [Attribute],
    /// The attribute that says who has access. What may mean it is never ignored.
    pub guarded: &'static str,
    /// Schemas that add attributes.
    pub extensions: &'static [Self],
}

pub const USERS: Schema = Schema {
    id: USER,
    name: "User",
    description: "A member of the organization",
    attributes: USER_ATTRIBUTES,
    guarded: "active",
    extensions: &[ENTERPRISE_USERS],
};

pub const ENTERPRISE_USERS: Schema = Schema {
    id: ENTERPRISE,
    name: "EnterpriseUser",
    description: "What a company says about a member",
    attributes: ENTERPRISE_ATTRIBUTES,
    guarded: "active",
    extensions: &[],
};

pub const GROUPS: Schema = Schema {
    id: GROUP,
    name: "Group",
    description: "A group of the organization's directory",
    attributes: GROUP_ATTRIBUTES,
    guarded: "members",
    extensions: &[],
};

pub const ALL: &[Schema] = &[USERS, ENTERPRISE_USERS, GROUPS];

/// The attribute of this name, in any spelling.
pub fn find(attributes: &'static [Attribute], name: &str) -> Option<&'static Attribute> {
    attributes.iter().find(|attribute| attribute.name.eq_ignore_ascii_case(name))
}

impl Schema {
    /// An attribute of the resource, which also has `externalId` (RFC 7643 §3.1).
    pub fn attribute(&self, name: &str) -> Option<&'static Attribute> {
        let common = &EXTERNAL_ID;
        let is_common = common.name.eq_ignore_ascii_case(name) && self.id != ENTERPRISE;
        find(self.attributes, name).or_else(|| is_common.then_some(common))
    }

    pub fn extension(&self, id: &str) -> Option<&'static Self> {
        self.extensions.iter().find(|extension| extension.id.eq_ignore_ascii_case(id))
    }

    /// As `/Schemas` shows it (RFC 7643 §7).
    pub fn document(&self) -> Value {
        let attributes: Vec<Value> = self.attributes.iter().map(Attribute::document).collect();
        json!({
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Schema"],
            "id": self.id,
            "name": self.name,
            "description": self.description,
            "attributes": attributes,
        })
    }
}

impl Attribute {
    pub fn is_read_only(&self) -> bool {
        self.mutability == Mutability::ReadOnly
    }

    fn document(&self) -> Value {
        let kind = match self.kind {
            Kind::Text => "string",
            Kind::Boolean => "boolean",
            Kind::Reference(_) => "reference",
            Kind::Binary => "binary",
            Kind::Complex(_) => "complex",
        };
        let mut document = json!({
            "name": self.name,
            "type": kind,
            "multiValued": self.multi_valued,
            "description": format!("{} of RFC 7643{}", self.name, self.note),
            "required": self.required,
            "caseExact": self.case_exact || matches!(self.kind, Kind::Reference(_) | Kind::Binary),
            "mutability": self.mutability.as_str(),
            "returned": "default",
            "uniqueness": match self.uniqueness {
                Uniqueness::None => "none",
                Uniqueness::Server => "server",
            },
        });
        match self.kind {
            Kind::Complex(parts) => {
                document["subAttributes"] = parts.iter().map(Self::document).collect();
            }
            Kind::Reference(types) => document["referenceTypes"] = json!(types),
            Kind::Text | Kind::Boolean | Kind::Binary => {}
        }
        document
    }
}
