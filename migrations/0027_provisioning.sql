-- Directories provision members (RFC 7643, RFC 7644): memberships that no account has claimed yet, and groups.

ALTER TABLE membership
    -- The member's name in the organization's directory, and its lower-case form.
    ADD COLUMN user_name text,
    ADD COLUMN user_name_key text,
    -- The directory's own key of the member; a sign-in by the directory is matched to it.
    ADD COLUMN external_id text,
    -- What the directory says about the member, as attributes of RFC 7643.
    ADD COLUMN profile jsonb,
    -- Its addresses there, in lower case: directories look members up by them. They never identify an account.
    ADD COLUMN email_keys text[],
    -- The deleted membership of the same name that this one follows.
    ADD COLUMN previous_id uuid,
    ADD COLUMN modified_at timestamptz,
    -- The directory disabled the member, and nobody else did since: it may undo that.
    ADD COLUMN disabled_by_directory boolean NOT NULL DEFAULT false,
    DROP CONSTRAINT membership_state_check,
    DROP CONSTRAINT membership_source_check,
    DROP CONSTRAINT membership_check,
    ADD CONSTRAINT membership_state_check CHECK (state IN ('provisioned', 'active', 'disabled', 'removed')),
    ADD CONSTRAINT membership_source_check CHECK (source IN ('invitation', 'admin', 'founder', 'scim', 'jit')),
    ADD CONSTRAINT membership_holder_check CHECK (
        num_nonnulls(account_id, client_id) <= 1
        AND (state <> 'active' OR num_nonnulls(account_id, client_id) = 1)
        AND (state <> 'provisioned' OR num_nonnulls(account_id, client_id) = 0)
        AND (state = 'removed' OR num_nonnulls(account_id, client_id) = 1 OR user_name IS NOT NULL)),
    ADD CONSTRAINT membership_user_name_check CHECK ((user_name IS NULL) = (user_name_key IS NULL));
CREATE UNIQUE INDEX membership_by_user_name ON membership (organization_id, user_name_key)
    WHERE state <> 'removed' AND user_name_key IS NOT NULL;
CREATE UNIQUE INDEX membership_by_external_id ON membership (organization_id, external_id)
    WHERE state <> 'removed' AND external_id IS NOT NULL;
-- Lists of the directory's users, and their number.
CREATE INDEX membership_of_directory ON membership (organization_id, created_at, membership_id)
    WHERE state <> 'removed' AND user_name_key IS NOT NULL;
CREATE INDEX membership_by_email ON membership USING gin (email_keys) WHERE state <> 'removed';
-- Deleted users, whom a new user of the same name follows.
CREATE INDEX membership_deleted ON membership (organization_id, user_name_key, disabled_at)
    WHERE state = 'removed' AND user_name_key IS NOT NULL;

-- A role that only groups of the member give.
ALTER TABLE membership_role ADD COLUMN by_group boolean NOT NULL DEFAULT false;

CREATE TABLE organization_group (
    organization_id uuid NOT NULL,
    group_id uuid NOT NULL,
    display_name text NOT NULL,
    display_name_key text NOT NULL,
    external_id text,
    -- The role that its members have; an administrator decides.
    role_key text,
    -- The number of its members.
    size bigint NOT NULL DEFAULT 0 CHECK (size >= 0),
    version bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    modified_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (organization_id, group_id)
);
CREATE UNIQUE INDEX organization_group_by_name ON organization_group (organization_id, display_name_key);
CREATE UNIQUE INDEX organization_group_by_external_id ON organization_group (organization_id, external_id)
    WHERE external_id IS NOT NULL;
CREATE INDEX organization_group_by_age ON organization_group (organization_id, created_at, group_id);
CREATE INDEX organization_group_by_role ON organization_group (organization_id, role_key) WHERE role_key IS NOT NULL;
COMMENT ON TABLE organization_group IS 'shard: organization_id. Groups of an organization''s directory, and the roles they give.';

CREATE TABLE organization_group_member (
    organization_id uuid NOT NULL,
    group_id uuid NOT NULL,
    membership_id uuid NOT NULL,
    PRIMARY KEY (organization_id, group_id, membership_id)
);
CREATE INDEX organization_group_member_of ON organization_group_member (organization_id, membership_id, group_id);
COMMENT ON TABLE organization_group_member IS 'shard: organization_id. Who is in which group.';

CREATE TABLE provisioning_refusal (
    organization_id uuid NOT NULL,
    -- The last refusals have a place each; the next one takes the place of the oldest.
    place integer NOT NULL,
    number bigint NOT NULL,
    -- Of what was refused and why: a repetition is counted, not added.
    fingerprint bytea NOT NULL,
    actor text NOT NULL,
    method text NOT NULL,
    resource text NOT NULL,
    status smallint NOT NULL,
    scim_type text,
    detail text NOT NULL,
    times bigint NOT NULL DEFAULT 1,
    request_id uuid NOT NULL,
    first_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (organization_id, place)
);
CREATE UNIQUE INDEX provisioning_refusal_once ON provisioning_refusal (organization_id, fingerprint);
CREATE INDEX provisioning_refusal_by_number ON provisioning_refusal (organization_id, number);
COMMENT ON TABLE provisioning_refusal IS 'shard: organization_id. Why requests of a directory were refused; a fixed number for each organization.';

CREATE TABLE provisioning_head (
    organization_id uuid PRIMARY KEY,
    number bigint NOT NULL DEFAULT 0,
    -- How many users the directory has ever created.
    users bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
COMMENT ON TABLE provisioning_head IS 'shard: organization_id. The number of the last refusal, which orders those who write, and of users ever created.';
