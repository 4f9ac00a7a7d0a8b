-- What a person, or an organization for its members, lets a client do in their name.

CREATE TABLE delegation (
    -- The account, or the organization whose members it is for.
    owner_id uuid NOT NULL,
    delegation_id uuid NOT NULL,
    -- The person; null: every member of the organization.
    account_id uuid,
    organization_id uuid,
    membership_id uuid,
    client_id text NOT NULL,
    audience text NOT NULL,
    scope text NOT NULL,
    details jsonb NOT NULL DEFAULT '[]',
    -- Whether the client may let another client act in its place.
    redelegable boolean NOT NULL,
    source text NOT NULL CHECK (source IN ('consent', 'person', 'approval', 'administrator')),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    last_used_at timestamptz,
    revoked_at timestamptz,
    revoke_reason text,
    PRIMARY KEY (owner_id, delegation_id),
    CHECK (coalesce(account_id, organization_id) = owner_id),
    CHECK ((account_id IS NULL OR organization_id IS NULL) = (membership_id IS NULL))
);
COMMENT ON TABLE delegation IS 'shard: owner_id. Authority that a client may exercise for a person by token exchange. Rows do not change except to be renewed, used or revoked.';

CREATE INDEX delegation_by_client ON delegation (owner_id, client_id) WHERE revoked_at IS NULL;
CREATE INDEX delegation_by_organization ON delegation (organization_id, client_id)
    WHERE revoked_at IS NULL AND organization_id IS NOT NULL;
CREATE INDEX delegation_by_expiry ON delegation (least(expires_at, revoked_at));

-- By which delegation a derived grant was made: it lives while that does.
ALTER TABLE oauth_grant ADD COLUMN delegation_id uuid;

-- From which other APIs' tokens an API takes authority, and by which scopes.
ALTER TABLE api ADD COLUMN exchanges jsonb NOT NULL DEFAULT '[]';
