//! Whether a grant is valid with respect to endings (decision record 0067).

/// Whether an ending `e` covers a grant `g`.
macro_rules! meant {
    () => {
        "g.created_at <= e.ended_at
         AND (e.session_ids IS NULL OR g.session_id = ANY(e.session_ids))
         AND g.session_id IS DISTINCT FROM e.spared_session_id
         AND (e.client_id IS NULL OR g.client_id = e.client_id)
         AND (e.membership_id IS NULL OR g.membership_id = e.membership_id)
         AND (e.credential_id IS NULL OR g.terms->'credentials' ? e.credential_id)
         AND (e.directory_epoch IS NULL OR (g.terms->>'directory_epoch')::int8 <= e.directory_epoch)"
    };
}

/// The condition that the directory by whose word a grant `g` was made still vouches for the member: the identity is
/// linked, and its connection was not disabled since (docs/decisions/0121). Other grants do not ask.
macro_rules! directory_vouches {
    () => {
        "(NOT g.terms ? 'directory_epoch' OR EXISTS (
             SELECT 1 FROM directory_identity i JOIN organization_connection n USING (organization_id, connection_id)
             WHERE i.organization_id = g.organization_id AND i.membership_id = g.membership_id
               AND g.terms->'credentials' ? i.identity_id::text
               AND n.enabled AND n.epoch = (g.terms->>'directory_epoch')::int8))"
    };
}

/// The condition that no ending of its account covers a grant `g`, and that its directory still vouches, used beside
/// `g.revoked_at IS NULL` wherever validity is checked. `OFFSET 0` keeps it a look-up by key: the table is nearly always
/// empty, and must not be scanned when it is not.
macro_rules! not_ended {
    () => {
        concat!(
            "NOT EXISTS (SELECT 1 FROM grant_ending e
                 WHERE e.owner_id = g.account_id AND (e.offline_too OR NOT g.offline) AND ",
            $crate::oauth::grants::meant!(),
            " OFFSET 0) AND ",
            $crate::oauth::grants::directory_vouches!()
        )
    };
}

/// The same for endings of its organization, which name a client. A refresh does not check this: ending something for
/// an organization raises its `authority_version`, and the recheck that follows (`diagnose`) does check it.
macro_rules! not_ended_there {
    () => {
        "(g.organization_id IS NULL OR NOT EXISTS (SELECT 1 FROM grant_ending e
             WHERE e.owner_id = g.organization_id AND e.client_id = g.client_id AND g.created_at <= e.ended_at
             OFFSET 0))"
    };
}

/// The rule that a token's grant was given to the token's own client, after `grants_from` of its registration:
/// `$client` and `$since` are the parameters with its id and that time. To let a client use a token of another
/// client's grant, extend this.
macro_rules! given_to {
    ($client:literal, $since:literal) => {
        concat!("g.client_id = ", $client, " AND g.created_at >= ", $since)
    };
}

/// The condition that the delegation by which a grant `g` was made lives, for those that were made by one.
macro_rules! delegation_lives {
    () => {
        "(g.delegation_id IS NULL OR EXISTS (SELECT 1 FROM delegation d
             WHERE d.owner_id = ANY(ARRAY[g.account_id, g.organization_id]) AND d.delegation_id = g.delegation_id
               AND d.revoked_at IS NULL AND d.expires_at > now()))"
    };
}

/// The condition that every grant a grant `g` was derived from lives: each is there, of the same account, not revoked,
/// expired or ended, and its client's registration still counts. A refresh does not ask this: what is
/// derived has no refresh token. Statements on hot paths ask it apart, for derived grants only (docs/decisions/0088).
macro_rules! ancestors_live {
    () => {
        concat!(
            "(g.ancestors IS NULL OR ",
            $crate::oauth::grants::delegation_lives!(),
            " AND NOT EXISTS (
                 SELECT 1 FROM (SELECT unnest(g.ancestors) AS grant_id, g.account_id) a
                 WHERE NOT EXISTS (
                     SELECT 1 FROM oauth_grant g JOIN client c ON c.client_id = g.client_id
                     WHERE g.grant_id = a.grant_id AND g.account_id = a.account_id AND g.revoked_at IS NULL
                       AND g.expires_at > now() AND c.disabled_at IS NULL AND g.created_at >= c.grants_from AND ",
            $crate::oauth::grants::not_ended!(),
            " AND ",
            $crate::oauth::grants::not_ended_there!(),
            " AND ",
            $crate::oauth::grants::delegation_lives!(),
            ")))"
        )
    };
}
/// Whether a grant outside organizations lives, and is derived; also for benchmarks.
pub const ALIVE: &str = concat!(
    "SELECT g.ancestors IS NOT NULL AS derived FROM oauth_grant g JOIN account a USING (account_id)
     WHERE g.grant_id = $1 AND g.account_id = $2 AND g.generation > 0 AND g.revoked_at IS NULL
       AND g.expires_at > now() AND a.state = 'active' AND g.organization_id IS NULL AND ",
    given_to!("$3", "$4"),
    " AND ",
    not_ended!()
);

pub(crate) use {
    ancestors_live, delegation_lives, directory_vouches, given_to, meant, not_ended, not_ended_there,
};
