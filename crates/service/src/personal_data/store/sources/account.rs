//! Tables of the account itself.

use super::{
    EMPTY,
    Erasure::{Deleted, Emptied, Kept},
    HASH, INNER, Key, SAME, Source,
};

const OF_ACCOUNT: &str = "t.account_id = $1";

pub(super) const SOURCES: &[Source] = &[
    Source {
        table: "account",
        about: OF_ACCOUNT,
        key: Key::Id("t.account_id"),
        shown: "account_id state display_name locale user_handle platform_administrator created_at \
            recovery_hold_until deletion_at",
        erasure: Emptied(
            "state = 'deleted', display_name = '', locale = 'en', user_handle = '', \
             platform_administrator = false, recovery_hold_until = NULL, deletion_at = NULL",
        ),
        ..EMPTY
    },
    Source {
        table: "credential",
        about: OF_ACCOUNT,
        key: Key::Id("t.credential_id"),
        shown: "credential_id kind label state counter failures created_at last_used_at",
        // Addresses, and identities at other providers. All other bodies contain hashes, keys or sealed secrets.
        partly: &[("body", "CASE WHEN t.kind IN ('email', 'phone', 'federated') THEN t.body END")],
        withheld: &[("account_id", SAME)],
        erasure: Deleted,
        ..EMPTY
    },
    Source {
        table: "recovery_code",
        about: OF_ACCOUNT,
        key: Key::Text("t.selector"),
        shown: "",
        withheld: &[("account_id", INNER), ("selector", "part of a secret"), ("hash", HASH)],
        erasure: Deleted,
        ..EMPTY
    },
    Source {
        table: "session",
        about: OF_ACCOUNT,
        key: Key::Id("t.session_id"),
        shown: "session_id proofs created_at seen_at lapsed ended_at end_reason address user_agent",
        withheld: &[("token_hash", HASH), ("account_id", SAME)],
        erasure: Deleted,
        ..EMPTY
    },
    Source {
        table: "push_subscription",
        about: OF_ACCOUNT,
        key: Key::Id("t.subscription_id"),
        shown: "subscription_id session_id user_agent created_at",
        withheld: &[("endpoint", "a secret of the browser's push service"), ("account_id", SAME)],
        erasure: Deleted,
        ..EMPTY
    },
    Source {
        table: "consent",
        about: OF_ACCOUNT,
        key: Key::Text("concat_ws(' ', t.client_id, t.audience, t.organization_id)"),
        shown: "client_id audience organization_id scope given_at",
        withheld: &[("account_id", SAME)],
        erasure: Deleted,
        ..EMPTY
    },
    Source {
        table: "directory_consent",
        about: OF_ACCOUNT,
        key: Key::Text("concat_ws(' ', t.client_id, t.audience, t.organization_id)"),
        shown: "client_id audience organization_id scope given_at",
        withheld: &[("account_id", SAME)],
        erasure: Deleted,
        ..EMPTY
    },
    Source {
        table: "oauth_grant",
        about: OF_ACCOUNT,
        key: Key::Id("t.grant_id"),
        shown: "grant_id client_id generation rotated_at expires_at revoked_at revoke_reason reuse_generation \
            ends_at idle_seconds session_id organization_id membership_id offline redirect_uri scope \
            audience created_at ancestors delegation_id",
        // Without a client's nonce, and without who acts for the person in an impersonation.
        partly: &[("terms", "t.terms - 'nonce' - 'actor'")],
        withheld: &[
            ("current_hash", HASH),
            ("authority_version", INNER),
            ("bound_key", HASH),
            ("code_challenge", HASH),
            ("definition", INNER),
            ("account_id", SAME),
        ],
        erasure: Kept("revoked; without an address or a name. They leave with their partition"),
        ..EMPTY
    },
    Source {
        table: "delegation",
        about: "t.owner_id = $1",
        key: Key::Id("t.delegation_id"),
        shown: "delegation_id organization_id membership_id client_id audience scope details redelegable source \
            created_at expires_at last_used_at revoked_at revoke_reason",
        withheld: &[("owner_id", SAME), ("account_id", SAME)],
        erasure: Deleted,
        ..EMPTY
    },
    Source {
        table: "approval",
        about: OF_ACCOUNT,
        key: Key::Id("t.approval_id"),
        shown: "approval_id client_id organization_id membership_id delegation_id frozen level irreversible \
            state session_id grant_id created_at expires_at decided_at used_at",
        partly: &[("terms", "t.terms - 'nonce' - 'actor'")],
        // While a request waits, the numbers tell the person apart from a stranger.
        withheld: &[
            ("digest", HASH),
            ("number", "what a person picks among the numbers"),
            ("numbers", "what a person picks among the numbers"),
            ("secret_hash", HASH),
            ("notification_token", "a secret of the client"),
            ("account_id", SAME),
        ],
        erasure: Deleted,
        ..EMPTY
    },
    Source {
        table: "approval_block",
        about: OF_ACCOUNT,
        key: Key::Text("t.client_id"),
        shown: "client_id reason until",
        withheld: &[("account_id", SAME)],
        erasure: Deleted,
        ..EMPTY
    },
    Source {
        table: "platform_authority",
        about: OF_ACCOUNT,
        key: Key::Id("t.account_id"),
        shown: "permissions granted_at",
        withheld: &[("version", INNER), ("account_id", SAME)],
        erasure: Deleted,
        ..EMPTY
    },
];
