-- Grants that end together: all of them are dead by one row, and revoked one by one afterwards.

CREATE TABLE grant_ending (
    -- The account, or the organization, whose grants end.
    owner_id uuid NOT NULL,
    ending_id uuid NOT NULL,
    reason text NOT NULL,
    -- A grant made later is not concerned.
    ended_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Which of the owner's grants; null where that part does not matter.
    session_ids uuid[],
    spared_session_id uuid,
    client_id text,
    membership_id uuid,
    credential_id text,
    -- Whether those end too that outlive their session.
    offline_too boolean NOT NULL,
    -- Whether clients with a back-channel logout address are told.
    tells boolean NOT NULL,
    -- How far the work is: this grant and the newer ones are done.
    reached uuid NOT NULL DEFAULT 'ffffffff-ffff-ffff-ffff-ffffffffffff',
    -- The request that ended them, for the log. Leaves with the row.
    request_id uuid NOT NULL,
    address inet NOT NULL,
    user_agent text NOT NULL,
    PRIMARY KEY (owner_id, ending_id)
);
COMMENT ON TABLE grant_ending IS 'shard: owner_id. Grants that ended together and are not all revoked yet; a row leaves when they are.';

CREATE TABLE grant_ending_told (
    owner_id uuid NOT NULL,
    ending_id uuid NOT NULL,
    client_id text NOT NULL,
    subject_id uuid NOT NULL,
    session_id uuid NOT NULL,
    PRIMARY KEY (owner_id, ending_id, client_id, subject_id, session_id)
);
COMMENT ON TABLE grant_ending_told IS 'shard: owner_id. Which clients were told of an ending: each once, however many grants it had.';

-- In the order of their ids, so that a batch begins where the one before stopped. By an expression, or the planner would
-- take these instead of the primary key to find one grant: its entries lie together by age, these by account.
CREATE INDEX oauth_grant_by_owner ON oauth_grant (account_id, uuid_send(grant_id));
DROP INDEX oauth_grant_by_account;
CREATE INDEX oauth_grant_by_organization_client ON oauth_grant (organization_id, client_id, uuid_send(grant_id))
    WHERE organization_id IS NOT NULL;
DROP INDEX oauth_grant_by_organization;
