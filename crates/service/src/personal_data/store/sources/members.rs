//! Tables of memberships, and the logs.

use super::{
    EMPTY,
    Erasure::{Deleted, Emptied, Kept, Separately},
    HASH, INNER, Key, OTHERS, SAME, Source,
};

const OF_ACCOUNT: &str = "t.account_id = $1";
const OF_MEMBER: &str = "(t.organization_id, t.membership_id) IN
    (SELECT organization_id, membership_id FROM membership WHERE account_id = $1)";

pub(super) const SOURCES: &[Source] = &[
    Source {
        table: "membership",
        about: OF_ACCOUNT,
        key: Key::Id("t.membership_id"),
        shown: "organization_id membership_id state source display_name primary_role grants_from disabled_at \
            created_at user_name external_id profile modified_at",
        withheld: &[
            ("user_name_key", "user_name in lower case"),
            ("email_keys", "the addresses of profile in lower case"),
            ("previous_id", INNER),
            ("disabled_by_directory", INNER),
            ("deactivated", INNER),
            ("client_id", "of members that are clients"),
            ("disabled_by", OTHERS),
            ("disable_reason", "written by the organization for itself; it answers for it"),
            ("version", INNER),
            ("account_id", SAME),
        ],
        erasure: Emptied(
            "display_name = '', user_name = NULL, user_name_key = NULL, external_id = NULL, profile = NULL, \
             email_keys = NULL",
        ),
        ..EMPTY
    },
    Source {
        table: "organization_group_member",
        about: OF_MEMBER,
        key: Key::Id("t.group_id"),
        shown: "organization_id group_id membership_id",
        erasure: Separately,
        ..EMPTY
    },
    Source {
        table: "membership_role",
        about: OF_MEMBER,
        key: Key::Text("concat_ws(' ', t.membership_id, t.role_key)"),
        shown: "organization_id role_key membership_id by_group",
        withheld: &[("created_at", "that of the membership")],
        erasure: Deleted,
        ..EMPTY
    },
    Source {
        table: "directory_identity",
        about: OF_MEMBER,
        key: Key::Id("t.identity_id"),
        shown: "organization_id identity_id connection_id subject membership_id created_at",
        erasure: Deleted,
        ..EMPTY
    },
    Source {
        table: "directory_session",
        about: OF_ACCOUNT,
        key: Key::Text("concat_ws(' ', t.organization_id, t.session_id)"),
        shown: "organization_id session_id connection_id identity_id created_at",
        withheld: &[("sid_hash", HASH), ("account_id", SAME)],
        erasure: Deleted,
        ..EMPTY
    },
    Source {
        table: "external_identity",
        about: OF_MEMBER,
        key: Key::Id("t.identity_id"),
        shown: "organization_id identity_id issuer tenant subject membership_id created_at",
        erasure: Deleted,
        ..EMPTY
    },
    // Those that the person accepted. One that was not is about an address, which may be anybody's.
    Source {
        table: "invitation",
        about: OF_MEMBER,
        key: Key::Id("t.invitation_id"),
        shown: "organization_id invitation_id email role_key state membership_id created_at expires_at",
        withheld: &[("email_key", HASH), ("secret_hash", HASH), ("invited_by", OTHERS)],
        erasure: Emptied("email = '', email_key = ''"),
        ..EMPTY
    },
    Source {
        table: "api_key",
        about: OF_MEMBER,
        key: Key::Text("t.key_id"),
        shown: "key_id kind organization_id membership_id name permissions allowed_networks created_by \
            created_at expires_at last_used_at last_used_address revoked_at revoke_reason made_level",
        withheld: &[("secret_hash", HASH)],
        erasure: Emptied("name = '', allowed_networks = '{}', last_used_address = NULL"),
        ..EMPTY
    },
    Source {
        table: "impersonation",
        about: OF_MEMBER,
        key: Key::Id("t.impersonation_id"),
        shown: "impersonation_id organization_id membership_id grant_id reason started_at ends_at ended_at",
        withheld: &[("actor_id", OTHERS), ("account_id", SAME)],
        erasure: Kept("the organization's proof of who acted as its member; without an address or a name"),
        ..EMPTY
    },
    Source {
        table: "security_log",
        about: "t.subject_id = $1",
        key: Key::Id("t.entry_id"),
        shown: "entry_id kind request_id at",
        // Who did it at the platform is not the person's.
        partly: &[("payload", "t.payload - 'by'")],
        withheld: &[("subject_id", SAME)],
        erasure: Kept("append-only; its entries contain no address, name or secret"),
        ..EMPTY
    },
    Source {
        table: "security_log_personal",
        joined: "JOIN security_log l ON l.entry_id = t.entry_id AND l.subject_id = t.subject_id",
        about: "l.subject_id = $1",
        key: Key::Id("l.entry_id"),
        shown: "entry_id",
        // Where the platform acted, they are its administrator's, and so is what it noted.
        partly: &[("personal", "CASE WHEN NOT l.payload ? 'by' THEN t.personal END")],
        withheld: &[("subject_id", SAME)],
        erasure: Separately,
    },
    Source {
        table: "trail_personal",
        joined: "JOIN trail l ON l.organization_id = t.organization_id AND l.entry_id = t.entry_id",
        // Without those of whoever acted as the member.
        about: "NOT l.actor ? 'act' AND (l.organization_id, l.actor->>'id') IN
            (SELECT organization_id, membership_id::text FROM membership WHERE account_id = $1
             UNION ALL SELECT m.organization_id, k.key_id::text FROM membership m
                 JOIN api_key k USING (organization_id, membership_id) WHERE m.account_id = $1)",
        key: Key::Id("l.entry_id"),
        shown: "organization_id entry_id personal",
        erasure: Separately,
        ..EMPTY
    },
];
