-- Organizations: who belongs to them, as what, and what happened there.

CREATE TABLE organization (
    organization_id uuid PRIMARY KEY,
    slug text NOT NULL,
    name text NOT NULL,
    status text NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'suspended')),
    suspended_at timestamptz,
    suspended_by text,
    suspend_reason text,
    suspend_note text,
    policy jsonb NOT NULL,
    locale text NOT NULL,
    -- Counts changes of what its roles permit. A grant that was checked against an older one is checked again.
    authority_version bigint NOT NULL DEFAULT 1,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX organization_by_age ON organization (created_at, organization_id);
CREATE INDEX organization_suspended ON organization (created_at, organization_id) WHERE status = 'suspended';
COMMENT ON TABLE organization IS 'shard: replicated. Tenants; read wherever somebody acts for one.';

CREATE TABLE organization_slug (
    slug text PRIMARY KEY,
    organization_id uuid NOT NULL,
    -- Given up; leads there until then, and is nobody else's.
    until timestamptz
);
CREATE INDEX organization_slug_by_prefix ON organization_slug (slug text_pattern_ops);
COMMENT ON TABLE organization_slug IS 'shard: slug. From the name in an address to the organization.';

CREATE TABLE membership (
    organization_id uuid NOT NULL,
    -- The subject of every token that speaks for this person here; never anybody else's.
    membership_id uuid NOT NULL,
    account_id uuid,
    client_id text,
    state text NOT NULL CHECK (state IN ('active', 'disabled', 'removed')),
    source text NOT NULL CHECK (source IN ('invitation', 'admin', 'founder')),
    display_name text NOT NULL,
    primary_role text NOT NULL,
    -- What was issued before counts no more: it was disabled in between.
    grants_from timestamptz NOT NULL DEFAULT 'epoch',
    disabled_at timestamptz,
    disabled_by text,
    disable_reason text,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, membership_id),
    CHECK (num_nonnulls(account_id, client_id) = 1)
);
CREATE UNIQUE INDEX membership_of_account ON membership (organization_id, account_id);
CREATE UNIQUE INDEX membership_of_client ON membership (organization_id, client_id);
CREATE INDEX membership_by_age ON membership (organization_id, created_at, membership_id) WHERE state <> 'removed';
CREATE INDEX membership_by_state ON membership (organization_id, state, created_at, membership_id);
CREATE INDEX membership_by_id ON membership (membership_id);
CREATE INDEX membership_by_account ON membership (account_id, organization_id);
CREATE INDEX membership_by_client ON membership (client_id) WHERE client_id IS NOT NULL;
COMMENT ON TABLE membership IS 'shard: organization_id. A person, or a client, in one organization.';

CREATE TABLE membership_role (
    organization_id uuid NOT NULL,
    role_key text NOT NULL,
    created_at timestamptz NOT NULL,
    membership_id uuid NOT NULL,
    PRIMARY KEY (organization_id, role_key, created_at, membership_id)
);
CREATE INDEX membership_role_of ON membership_role (organization_id, membership_id);
COMMENT ON TABLE membership_role IS 'shard: organization_id. Which roles a membership has; created_at is the membership''s, for lists.';

CREATE TABLE role (
    organization_id uuid NOT NULL,
    role_key text NOT NULL,
    name text NOT NULL,
    permissions text[] NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, role_key)
);
COMMENT ON TABLE role IS 'shard: organization_id. Roles an organization made for itself; the built-in ones are code.';

CREATE TABLE invitation (
    organization_id uuid NOT NULL,
    invitation_id uuid NOT NULL,
    email text NOT NULL,
    email_key bytea NOT NULL,
    role_key text NOT NULL,
    secret_hash bytea NOT NULL,
    state text NOT NULL CHECK (state IN ('pending', 'accepted', 'revoked')),
    -- Who, as trails name them: kind:id.
    invited_by text NOT NULL,
    membership_id uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, invitation_id)
);
CREATE UNIQUE INDEX invitation_pending ON invitation (organization_id, email_key) WHERE state = 'pending';
CREATE INDEX invitation_of_mailbox ON invitation (email_key) WHERE state = 'pending';
CREATE INDEX invitation_by_age ON invitation (organization_id, created_at, invitation_id);
COMMENT ON TABLE invitation IS 'shard: organization_id. Who was asked to join; the secret is only in the mail.';

CREATE TABLE client_policy (
    organization_id uuid NOT NULL,
    client_id text NOT NULL,
    decision text NOT NULL CHECK (decision IN ('allow', 'block')),
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, client_id)
);
COMMENT ON TABLE client_policy IS 'shard: organization_id. Clients an organization allows or blocks by name.';

CREATE TABLE api_key (
    key_id text PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('personal', 'organization', 'platform')),
    -- None for the platform's own.
    organization_id uuid,
    -- Whose authority it borrows, for a personal one.
    membership_id uuid,
    name text NOT NULL,
    secret_hash bytea NOT NULL,
    permissions text[] NOT NULL,
    allowed_networks text[] NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    last_used_at timestamptz,
    last_used_address inet,
    revoked_at timestamptz,
    revoke_reason text,
    CHECK ((kind = 'platform') = (organization_id IS NULL)),
    CHECK ((kind = 'personal') = (membership_id IS NOT NULL))
) WITH (fillfactor = 90);
CREATE INDEX api_key_by_organization ON api_key (organization_id, created_at, key_id);
CREATE INDEX api_key_by_membership ON api_key (organization_id, membership_id) WHERE membership_id IS NOT NULL;
COMMENT ON TABLE api_key IS 'shard: key_id. Keys shown once; only the hash of the secret is here.';

CREATE TABLE platform_authority (
    account_id uuid PRIMARY KEY,
    permissions text[] NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    granted_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE platform_authority IS 'shard: account_id. What a person may do to the installation itself.';

CREATE TABLE impersonation (
    impersonation_id uuid NOT NULL,
    organization_id uuid NOT NULL,
    membership_id uuid NOT NULL,
    account_id uuid NOT NULL,
    actor_id uuid NOT NULL,
    grant_id uuid NOT NULL,
    reason text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    ends_at timestamptz NOT NULL,
    ended_at timestamptz,
    PRIMARY KEY (organization_id, impersonation_id)
);
CREATE INDEX impersonation_by_membership ON impersonation (organization_id, membership_id);
COMMENT ON TABLE impersonation IS 'shard: organization_id. Who of the platform acted as a member, and why.';

CREATE TABLE trail_head (
    organization_id uuid PRIMARY KEY,
    sequence bigint NOT NULL,
    hash bytea NOT NULL,
    -- When it was written: the next is not from before.
    at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);
COMMENT ON TABLE trail_head IS 'shard: organization_id. The last entry of each trail; orders those who write.';

CREATE TABLE trail (
    organization_id uuid NOT NULL,
    entry_id uuid NOT NULL,
    sequence bigint NOT NULL,
    kind text NOT NULL,
    -- Who: {"kind", "id", "act"}; to what: {"kind", "id"}.
    actor jsonb NOT NULL,
    target jsonb NOT NULL,
    outcome text NOT NULL CHECK (outcome IN ('done', 'refused')),
    reason text,
    changes jsonb,
    request_id uuid NOT NULL,
    at timestamptz NOT NULL,
    previous_hash bytea NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (organization_id, entry_id)
) PARTITION BY RANGE (entry_id);
CREATE INDEX trail_by_kind ON trail (organization_id, kind, entry_id);
CREATE INDEX trail_by_actor ON trail (organization_id, (actor->>'id'), entry_id);
COMMENT ON TABLE trail IS 'shard: organization_id. What happened in an organization, for its own people; append-only, chained.';
REVOKE UPDATE, DELETE, TRUNCATE ON trail FROM PUBLIC, CURRENT_USER;
CREATE FUNCTION trail_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'trail is append-only' USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TRIGGER trail_append_only BEFORE UPDATE OR DELETE ON trail
    FOR EACH ROW EXECUTE FUNCTION trail_is_append_only();
CREATE TRIGGER trail_no_truncate BEFORE TRUNCATE ON trail
    FOR EACH STATEMENT EXECUTE FUNCTION trail_is_append_only();

CREATE TABLE trail_personal (
    organization_id uuid NOT NULL,
    entry_id uuid NOT NULL,
    personal jsonb NOT NULL,
    PRIMARY KEY (organization_id, entry_id)
) PARTITION BY RANGE (entry_id);
COMMENT ON TABLE trail_personal IS 'shard: organization_id. Address and device of an entry, outside the chain: erasable.';

CREATE TABLE refusal (
    refusal_id uuid PRIMARY KEY,
    -- Whose trail readers may ask; none: the platform's alone.
    organization_id uuid,
    client_id text,
    subject text,
    rule text NOT NULL,
    -- What was asked, what was held, and what would have passed.
    explanation jsonb NOT NULL,
    request_id uuid NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
) PARTITION BY RANGE (refusal_id);
COMMENT ON TABLE refusal IS 'shard: refusal_id. Why authority was refused, for whoever may read the trail.';

CREATE TABLE idempotent_request (
    caller_key bytea NOT NULL,
    request_key bytea NOT NULL,
    -- The day, as the smallest UUIDv7 of its start; both days are asked.
    day uuid NOT NULL,
    digest bytea NOT NULL,
    -- None while it is under way.
    status smallint,
    answer jsonb,
    PRIMARY KEY (caller_key, request_key, day)
) PARTITION BY RANGE (day);
COMMENT ON TABLE idempotent_request IS 'shard: caller_key. Answers of creations, for whoever asks again with the same key.';
