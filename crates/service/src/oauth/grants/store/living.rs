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
pub(crate) use {meant, not_ended, not_ended_there};
