-- The domains of organizations.

CREATE TABLE organization_domain (
    organization_id uuid NOT NULL,
    domain_id uuid NOT NULL,
    name text NOT NULL,
    -- Of the text record that proves it.
    value text NOT NULL,
    state text NOT NULL CHECK (state IN ('pending', 'verified', 'lapsed')),
    verified_at timestamptz,
    checked_at timestamptz,
    -- Since when a verified domain's record is missing.
    failing_since timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (organization_id, domain_id),
    UNIQUE (organization_id, name)
);
COMMENT ON TABLE organization_domain IS 'shard: organization_id. Domains that an organization has proved to control, or wants to.';
CREATE INDEX organization_domain_by_name ON organization_domain (name, organization_id);
CREATE INDEX organization_domain_by_check ON organization_domain (checked_at) WHERE state = 'verified';

CREATE TABLE verified_domain (
    name text PRIMARY KEY,
    organization_id uuid NOT NULL
);
COMMENT ON TABLE verified_domain IS 'shard: replicated. The one organization that has verified a name.';
