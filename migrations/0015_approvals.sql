-- What clients ask people to approve: one exact action each.

CREATE TABLE approval (
    account_id uuid NOT NULL,
    approval_id uuid NOT NULL,
    client_id text NOT NULL,
    -- Where the client wants to act, and as whom.
    organization_id uuid,
    membership_id uuid,
    -- By which the client may ask. What is approved lives while it does.
    delegation_id uuid NOT NULL,
    -- What is asked for, as JSON. It does not change: the digest is that of the text.
    frozen text NOT NULL,
    digest bytea NOT NULL CHECK (digest = sha256(convert_to(frozen, 'UTF8'))),
    -- The number that the client shows, and the three among which the person picks.
    number smallint NOT NULL CHECK (number = ANY (numbers)),
    numbers smallint[] NOT NULL CHECK (cardinality(numbers) = 3),
    -- What the person must have proved to approve it, and whether within minutes.
    level text NOT NULL CHECK (level IN ('none', 'aal1', 'aal2')),
    irreversible boolean NOT NULL,
    -- Of the handle with which the client asks for the outcome.
    secret_hash bytea NOT NULL,
    -- Encrypted; null: the client asks for the outcome and is not told.
    notification_token bytea,
    state text NOT NULL DEFAULT 'pending'
        CHECK (state IN ('pending', 'approved', 'denied', 'expired', 'consumed', 'blocked')),
    -- In which session it was approved, and how the person had proved who they are.
    session_id uuid,
    terms jsonb,
    grant_id uuid,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    decided_at timestamptz,
    PRIMARY KEY (account_id, approval_id),
    CHECK ((organization_id IS NULL) = (membership_id IS NULL)),
    CHECK (state NOT IN ('approved', 'consumed') OR (session_id IS NOT NULL AND terms IS NOT NULL)),
    CHECK ((state = 'consumed') = (grant_id IS NOT NULL))
);
COMMENT ON TABLE approval IS 'shard: account_id. Actions that clients ask a person to approve, and the decisions; ninety days each.';

CREATE INDEX approval_by_time ON approval (account_id, created_at);
CREATE INDEX approval_by_organization ON approval (organization_id, created_at) WHERE organization_id IS NOT NULL;
CREATE INDEX approval_by_age ON approval (created_at);

-- Clients that may not ask a person for a while.
CREATE TABLE approval_block (
    account_id uuid NOT NULL,
    client_id text NOT NULL,
    reason text NOT NULL CHECK (reason IN ('denials', 'report')),
    until timestamptz NOT NULL,
    PRIMARY KEY (account_id, client_id)
);
COMMENT ON TABLE approval_block IS 'shard: account_id. Clients that may not ask a person for approvals for a while.';
CREATE INDEX approval_block_by_time ON approval_block (until);
