-- A person deletes their account: when, once they asked for it.

ALTER TABLE account ADD COLUMN deletion_at timestamptz;
CREATE INDEX account_by_deletion ON account (deletion_at) WHERE deletion_at IS NOT NULL;
