//! Whether a grant lives, as far as endings are concerned (decision record 0067).

/// Whether an ending `e` means a grant `g`.
macro_rules! meant {
    () => {
        "g.created_at <= e.ended_at
         AND (e.session_ids IS NULL OR g.session_id = ANY(e.session_ids))
         AND g.session_id IS DISTINCT FROM e.spared_session_id
         AND (e.client_id IS NULL OR g.client_id = e.client_id)
         AND (e.membership_id IS NULL OR g.membership_id = e.membership_id)
         AND (e.credential_id IS NULL OR g.terms->'credentials' ? e.credential_id)"
    };
}

/// The condition that no ending of its account means a grant `g`, beside `g.revoked_at IS NULL` wherever it is asked
/// whether one lives. `OFFSET 0` keeps it a look-up by key: the table is nearly always empty, and must not be read as a
/// whole when it is not.
macro_rules! not_ended {
    () => {
        concat!(
            "NOT EXISTS (SELECT 1 FROM grant_ending e
                 WHERE e.owner_id = g.account_id AND (e.offline_too OR NOT g.offline) AND ",
            $crate::oauth::grants::meant!(),
            " OFFSET 0)"
        )
    };
}

/// The same for endings of its organization, which name a client. A refresh does not ask this: whoever ends something for
/// an organization raises its `authority_version`, and what is looked at again (`diagnose`) is asked.
macro_rules! not_ended_there {
    () => {
        "(g.organization_id IS NULL OR NOT EXISTS (SELECT 1 FROM grant_ending e
             WHERE e.owner_id = g.organization_id AND e.client_id = g.client_id AND g.created_at <= e.ended_at
             OFFSET 0))"
    };
}

/// The rule that a token's grant was given to the token's own client, since its registration was last cut: `$client` and
/// `$since` are the parameters with its id and date. Whoever lets a client use a token of another's grant extends this.
macro_rules! given_to {
    ($client:literal, $since:literal) => {
        concat!("g.client_id = ", $client, " AND g.created_at >= ", $since)
    };
}

/// The condition that every grant a grant `g` was derived from lives: each is there, of the same account, not revoked,
/// expired or ended, and its client's registration still counts. A refresh does not ask this: what is
/// derived has no refresh token. Statements on hot paths ask it apart, for derived grants only (docs/decisions/0088).
macro_rules! ancestors_live {
    () => {
        concat!(
            "(g.ancestors IS NULL OR NOT EXISTS (
                 SELECT 1 FROM (SELECT unnest(g.ancestors) AS grant_id, g.account_id) a
                 WHERE NOT EXISTS (
                     SELECT 1 FROM oauth_grant g JOIN client c ON c.client_id = g.client_id
                     WHERE g.grant_id = a.grant_id AND g.account_id = a.account_id AND g.revoked_at IS NULL
                       AND g.expires_at > now() AND c.disabled_at IS NULL AND g.created_at >= c.grants_from AND ",
            $crate::oauth::grants::not_ended!(),
            " AND ",
            $crate::oauth::grants::not_ended_there!(),
            ")))"
        )
    };
}
pub(crate) use {ancestors_live, given_to, meant, not_ended, not_ended_there};
