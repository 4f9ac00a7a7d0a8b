-- How organizations and clients look on pages: a name, a picture, two colours.

CREATE TABLE organization_branding (
    organization_id uuid PRIMARY KEY,
    name text,
    -- `#` and six digits, for light and for dark pages; readable on them.
    color text,
    color_dark text,
    -- As it was rebuilt when it came: nothing in it but what draws it.
    logo bytea,
    logo_type text CHECK (logo_type IN ('image/png', 'image/jpeg', 'image/webp')),
    logo_width integer,
    logo_height integer,
    -- Of the bytes: part of the address it is served at, which therefore never shows another picture.
    logo_digest text,
    version bigint NOT NULL DEFAULT 1,
    changed_at timestamptz NOT NULL DEFAULT now(),
    CHECK (num_nonnulls(logo, logo_type, logo_width, logo_height, logo_digest) IN (0, 5))
);
COMMENT ON TABLE organization_branding IS 'shard: organization_id. How an organization looks to people who sign in for it.';

CREATE TABLE client_branding (
    client_id text PRIMARY KEY,
    name text,
    color text,
    color_dark text,
    logo bytea,
    logo_type text CHECK (logo_type IN ('image/png', 'image/jpeg', 'image/webp')),
    logo_width integer,
    logo_height integer,
    logo_digest text,
    version bigint NOT NULL DEFAULT 1,
    changed_at timestamptz NOT NULL DEFAULT now(),
    CHECK (num_nonnulls(logo, logo_type, logo_width, logo_height, logo_digest) IN (0, 5))
);
COMMENT ON TABLE client_branding IS 'shard: client_id. How a client looks to people it sends to sign in.';
